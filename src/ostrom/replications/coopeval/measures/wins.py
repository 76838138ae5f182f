"""How often a player's proposal is chosen."""

from ostrom.replications.coopeval.conduct import conduct_measure

MEASURE = conduct_measure("wins", "Whether the proposal of a player is the one that the vote chooses.")
