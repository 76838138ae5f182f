"""Which equilibrium is played."""

from ostrom.replications.personas.measures._shared import profile_measure

MEASURE = profile_measure(
    "green_share_of_nash",
    "The share of profiles with every seat cooperative among those that are equilibria.",
)
