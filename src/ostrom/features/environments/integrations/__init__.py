"""Adapters to other packages; each is imported only where its package is installed."""
