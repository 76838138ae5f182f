"""Statements about a run, judged by their intervals."""
