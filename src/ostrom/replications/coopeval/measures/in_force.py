"""How often contracts come into force."""

from ostrom.replications.coopeval.conduct import conduct_measure

MEASURE = conduct_measure(
    "in_force", "Whether everybody signed, so that the contract of the match is in force."
)
