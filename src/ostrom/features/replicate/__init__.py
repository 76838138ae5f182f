"""A paper as one command: its arms are played, and every printed figure gets ours beside it with a verdict."""
