"""How often everybody cooperates."""

from ostrom.replications.personas.measures._shared import profile_measure

MEASURE = profile_measure(
    "green_rate",
    "The share of played profiles in which every seat took its cooperative action.",
)
