"""Analysis: read runs and turn them into measures, statistics and dynamics."""
