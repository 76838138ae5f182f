"""Coordination: how often all players do the same."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="coordination",
    title="Coordination",
    scale="share",
    definition="The share of the rounds of a match in which all players play the action of the same name.",
    needs=("decisions.action",),
    values=(
        "SELECT match, player, avg(same::INTEGER) AS value FROM ("
        "SELECT match, player, min(action) OVER acts = max(action) OVER acts AS same FROM decisions "
        "WHERE kind = 'act' AND action IS NOT NULL WINDOW acts AS (PARTITION BY match, round)) "
        "GROUP BY match, player"
    ),
)
