"""How often players delegate."""

from ostrom.replications.coopeval.conduct import conduct_measure

MEASURE = conduct_measure("delegates", "The share of a player's decisions that it delegates to the mediator.")
