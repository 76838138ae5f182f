"""Traces counted: lexicons applied to every reply of a run, and sums over groups."""
