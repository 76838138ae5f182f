"""Kinds of files that this feature reads."""
