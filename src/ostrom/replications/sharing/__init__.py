"""Dictator, ultimatum and trust games next to meta-analyses of people."""
