"""As theory says: how often a decision is the one of the benchmark."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="as_theory",
    title="Decisions as theory says",
    scale="share",
    definition=(
        "The share of a player's decisions in a match that are what theory says (the benchmark of the game),"
        " at each stage."
    ),
    needs=("decisions.as_theory",),
    values=(
        "SELECT match, player, stage, avg(as_theory::INTEGER) AS value FROM decisions "
        "WHERE as_theory IS NOT NULL GROUP BY match, player, stage ORDER BY match, player, stage"
    ),
    columns=("stage",),
)
