"""Replication of a paper in one command: its studies are played, and every printed figure gets a verdict."""
