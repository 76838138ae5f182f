"""Runs checked from end to end."""
