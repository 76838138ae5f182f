"""Joint cooperation by round: whether all players cooperate in each round."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="joint_cooperation_by_round",
    title="Joint cooperation",
    scale="share",
    definition=(
        "Whether every player's action is cooperative in a round (column round); void rounds are left out."
    ),
    unit="decision",
    needs=("decisions.cooperative",),
    values=(
        "SELECT match, round, bool_and(cooperative)::INTEGER AS value FROM decisions "
        "WHERE kind = 'act' AND cooperative IS NOT NULL GROUP BY match, round ORDER BY round, match"
    ),
)
