"""Distance from theory: how far an amount is from what theory says."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="distance_from_theory",
    title="Distance from theory",
    scale="share",
    definition=(
        "How far the amount that a player names is from the one that theory says (the benchmark of the "
        "game), as a share of the range that is allowed at that moment, averaged over a match at each stage "
        "of the game."
    ),
    needs=("decisions.theory",),
    values=(
        "SELECT match, player, stage, avg(abs(amount - theory) / (most - least)) AS value FROM decisions "
        "WHERE amount IS NOT NULL AND theory BETWEEN least AND most AND most > least "
        "GROUP BY match, player, stage ORDER BY match, player, stage"
    ),
    columns=("stage",),
)
