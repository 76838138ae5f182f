"""Joint cooperation: how often all players cooperate in the same round."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="joint_cooperation",
    title="Joint cooperation",
    scale="share",
    definition="The share of the rounds of a match in which every player's action is cooperative.",
    needs=("decisions.cooperative",),
    values=(
        "SELECT match, avg(joint::INTEGER) AS value FROM ("
        "SELECT match, round, bool_and(cooperative) AS joint FROM decisions "
        "WHERE kind = 'act' AND cooperative IS NOT NULL GROUP BY match, round) GROUP BY match"
    ),
)
