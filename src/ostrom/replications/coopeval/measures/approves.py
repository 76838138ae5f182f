"""How often proposals are approved."""

from ostrom.replications.coopeval.conduct import conduct_measure

MEASURE = conduct_measure(
    "approves", "The share of the proposals in a match that a player approves in the vote."
)
