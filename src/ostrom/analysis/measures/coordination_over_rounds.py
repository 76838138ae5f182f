"""Coordination over rounds: whether all players do the same in a round."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="coordination_over_rounds",
    title="Coordination over the rounds",
    scale="share",
    definition="Whether all players of a match play the action of the same name, by round (column round).",
    unit="decision",
    needs=("decisions.action",),
    columns=("round",),
    values=(
        "SELECT match, round, (min(action) = max(action))::INTEGER AS value FROM decisions "
        "WHERE kind = 'act' AND action IS NOT NULL GROUP BY match, round ORDER BY round, match"
    ),
    source="Akata et al. (2025), Figures 5 and 7",
)
