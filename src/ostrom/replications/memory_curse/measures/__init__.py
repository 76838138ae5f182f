"""Measures that only this paper needs."""
