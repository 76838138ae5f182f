"""Starter files, written to the current folder."""
