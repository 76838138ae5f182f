"""How often profiles are equilibria."""

from ostrom.replications.personas.measures._shared import profile_measure

MEASURE = profile_measure(
    "nash_rate",
    "The share of played profiles from which nobody gains by a change of its own action alone.",
)
