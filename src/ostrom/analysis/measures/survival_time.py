"""Survival time: how long a stock that all live on lasts."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="survival_time",
    title="Survival time",
    scale="count",
    definition=(
        "The rounds of a match in a game with a stock until the stock collapses, that round included, or until the end."
    ),
    needs=("decisions.stage", "matches.rounds_played"),
    source="Piatti et al. (2024), Cooperate or Collapse",
    values=(
        "SELECT match, max(rounds_played) AS value FROM matches "
        "WHERE match IN (SELECT match FROM decisions WHERE stage = 'harvest') GROUP BY match ORDER BY match"
    ),
)
