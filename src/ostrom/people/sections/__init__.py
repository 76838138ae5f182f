"""Blocks of a study file that this room reads."""
