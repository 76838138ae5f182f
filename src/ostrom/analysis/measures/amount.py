"""Amount: what a player names in games with amounts."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="amount",
    title="Amount",
    scale="number",
    definition="The mean amount that a player names in a match, at each stage (an offer, a bid, a harvest).",
    needs=("decisions.amount",),
    values=(
        "SELECT match, player, stage, avg(amount) AS value FROM decisions "
        "WHERE amount IS NOT NULL GROUP BY match, player, stage ORDER BY match, player, stage"
    ),
    columns=("stage",),
)
