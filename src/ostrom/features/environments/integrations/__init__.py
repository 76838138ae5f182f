"""Environments for packages of others, each imported only where its package is installed."""
