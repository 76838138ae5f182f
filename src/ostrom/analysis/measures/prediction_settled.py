"""Settled predictions: from which round on a player or observer predicts without a mistake."""

from ostrom.analysis.measure import Measure
from ostrom.analysis.predictions import PREDICTIONS

MEASURE = Measure(
    name="prediction_settled",
    title="All predictions right from here on",
    scale="share",
    definition=(
        "Whether all predictions about a player are right from a round (column round) to the end of the match, "
        "by whom they are about (column target_agent)."
    ),
    unit="decision",
    needs=("decisions.target",),
    values=(
        "SELECT match, player, round, target_agent, (round > coalesce(max("
        "CASE WHEN answer IS DISTINCT FROM action THEN round END) "
        "OVER (PARTITION BY match, player, target), 0))::INTEGER AS value "
        f"FROM {PREDICTIONS} ORDER BY round, match, player, target"
    ),
    source="Akata et al. (2025)",
)
