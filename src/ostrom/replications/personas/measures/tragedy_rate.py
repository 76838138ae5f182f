"""How often everybody defects."""

from ostrom.replications.personas.measures._shared import profile_measure

MEASURE = profile_measure(
    "tragedy_rate",
    "The share of played profiles in which every seat took its defective action.",
)
