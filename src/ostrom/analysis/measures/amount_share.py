"""Share: how much of what may be named a player names."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="amount_share",
    title="Share of what may be named",
    scale="share",
    definition=(
        "The amount that a player names, counted from the least to the most that is allowed at that moment "
        "(the share of the stake that is offered, of the stock that is harvested, of what arrived that is "
        "returned), averaged over a match at each stage of the game."
    ),
    needs=("decisions.amount",),
    values=(
        "SELECT match, player, stage, avg((amount - least) / (most - least)) AS value FROM decisions WHERE "
        "amount IS NOT NULL AND most > least GROUP BY match, player, stage ORDER BY match, player, stage"
    ),
    columns=("stage",),
)
