"""Kept pledges: whether a player does what it has pledged."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="kept_pledge",
    title="Kept pledges",
    scale="share",
    definition="Whether the action of a player is the one that it pledged.",
    needs=("decisions.action",),
    values=(
        "SELECT p.match, p.player, avg((p.answer = a.action)::INTEGER) AS value FROM decisions p "
        "JOIN decisions a ON a.match = p.match AND a.player = p.player AND a.round = p.round AND a.kind = 'act' "
        "WHERE p.kind = 'pledge' AND a.action IS NOT NULL GROUP BY p.match, p.player ORDER BY p.match, p.player"
    ),
)
