"""By policy: how many of a player's answers were not its own."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="by_policy",
    title="Answers given by the policy",
    scale="share",
    definition=(
        "The share of a player's answers in a match that the study's policy gave, "
        "because none of the player's own could be read."
    ),
    needs=("decisions.invalid",),
    values="SELECT match, player, avg(invalid::INTEGER) AS value FROM decisions GROUP BY match, player",
)
