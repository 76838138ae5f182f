"""Whether models take a game for a test, and whether they then cooperate differently."""
