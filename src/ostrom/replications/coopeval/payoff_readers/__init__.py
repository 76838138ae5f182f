"""Readers of payoff files, for `ostrom evolve`."""
