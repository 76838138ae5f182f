"""Readers of payoff files, for `ostrom more evolve`."""
