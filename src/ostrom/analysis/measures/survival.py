"""Survival: whether a stock that all live on is still there in the end."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="survival",
    title="Survival",
    scale="share",
    definition="Whether a match in a game with a stock goes on to its last round instead of ending in a collapse.",
    needs=("decisions.stage", "matches.facts"),
    source="Piatti et al. (2024), Cooperate or Collapse",
    values=(
        "SELECT match, (coalesce(json_extract_string(any_value(facts), '$.over'), '') <> "
        "'collapse')::INTEGER AS value FROM matches WHERE match IN (SELECT match FROM decisions WHERE stage "
        "= 'harvest') GROUP BY match ORDER BY match"
    ),
)
