"""Stock: what is there to harvest, round by round."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="stock_by_round",
    title="Stock",
    scale="number",
    definition="What a common stock holds before the harvest of each round; nothing once it has collapsed.",
    needs=("decisions.most",),
    bounds=(0.0, None),
    values=(
        "SELECT match, round, max(most) AS value FROM decisions WHERE stage = 'harvest' "
        "GROUP BY match, round ORDER BY match, round"
    ),
    columns=("round",),
)
