"""Ostrom: a laboratory for cooperation between language-model agents."""

__version__ = "0.1.0"
