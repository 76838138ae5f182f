"""Readers of released files, for `ostrom import`."""
