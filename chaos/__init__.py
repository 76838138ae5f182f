"""The failure suite: what a run survives, and what no input can do to it. ``python -m chaos``."""
