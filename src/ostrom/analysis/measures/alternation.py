"""Alternation: how often a player changes its action from one round to the next."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="alternation",
    title="Alternation",
    scale="share",
    definition=(
        "The share of a player's rounds after its first in which it plays another action than in the round before."
    ),
    needs=("decisions.action",),
    values=(
        "SELECT match, player, avg(changed::INTEGER) AS value FROM ("
        "SELECT match, player, action <> lag(action) OVER acts AS changed FROM decisions "
        "WHERE kind = 'act' AND action IS NOT NULL WINDOW acts AS (PARTITION BY match, player ORDER BY round)) "
        "WHERE changed IS NOT NULL GROUP BY match, player"
    ),
    source="Akata et al. (2025)",
)
