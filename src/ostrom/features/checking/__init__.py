"""Integrity check of a whole run."""
