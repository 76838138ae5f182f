"""Sections of a study file that this package reads."""
