"""How often contracts are signed."""

from ostrom.replications.coopeval.conduct import conduct_measure

MEASURE = conduct_measure("signs", "The share of contracts put before a player that it signs.")
