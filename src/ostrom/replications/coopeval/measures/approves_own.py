"""How often players approve their own proposal."""

from ostrom.replications.coopeval.conduct import conduct_measure

MEASURE = conduct_measure("approves_own", "Whether a player approves its own proposal in the vote.")
