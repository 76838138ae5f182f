"""Where matches are played: in this process, or by the workers of a Ray cluster."""
