"""Payoff files of tournaments, as `ostrom evolve` takes them."""

from ostrom.replications.coopeval.released.payoff_files import read_payoff_files

READER = read_payoff_files
