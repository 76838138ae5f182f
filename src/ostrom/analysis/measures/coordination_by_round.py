"""Coordination by round: whether all players do the same in each round."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="coordination_by_round",
    title="Coordination",
    scale="share",
    definition=(
        "Whether all players play the action of the same name in a round (column round); void rounds are left out."
    ),
    unit="decision",
    needs=("decisions.action",),
    values=(
        "SELECT match, round, (min(action) = max(action))::INTEGER AS value FROM decisions "
        "WHERE kind = 'act' AND action IS NOT NULL GROUP BY match, round ORDER BY round, match"
    ),
)
