"""Societies on networks: links, clusters of cooperators, and the network over time."""
