"""Acceptance: how often an offer is accepted."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="acceptance",
    title="Acceptance",
    scale="share",
    definition="The share of the offers that a player answers in a match by accepting them.",
    needs=("decisions.stage",),
    values=(
        "SELECT match, player, avg((action = 'accept')::INTEGER) AS value FROM decisions "
        "WHERE stage IS NOT NULL AND action IN ('accept', 'reject') GROUP BY match, player ORDER BY match, player"
    ),
)
