"""A run read as tables."""
