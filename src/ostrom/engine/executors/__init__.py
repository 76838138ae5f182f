"""Executors: play matches in this process, or on the workers of a Ray cluster."""
