"""Cooperation at the end: in the last round of a match, and before it."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="cooperation_at_end",
    title="Cooperation at the end",
    scale="share",
    definition=(
        "The share of a player's actions that are cooperative, in the last round of a match and before it "
        "(column phase: before, last). Matches of one round are left out."
    ),
    needs=("decisions.cooperative",),
    values=(
        "SELECT match, player, phase, avg(cooperative::INTEGER) AS value FROM ("
        "SELECT match, player, round, cooperative, max(round) OVER (PARTITION BY match) AS rounds, "
        "CASE WHEN round < rounds THEN 'before' ELSE 'last' END AS phase FROM decisions "
        "WHERE kind = 'act' AND cooperative IS NOT NULL) WHERE rounds > 1 "
        "GROUP BY match, player, phase ORDER BY match, player, phase"
    ),
)
