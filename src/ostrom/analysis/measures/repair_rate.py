"""Repair rate: how often all players cooperate right after a round in which somebody did not."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="repair_rate",
    title="Repair of cooperation",
    scale="share",
    definition=(
        "Of the rounds that follow a round in which not all players cooperated, the share in which all do; for any "
        "number of players. Matches in which cooperation never broke have no value."
    ),
    needs=("decisions.cooperative",),
    values=(
        "SELECT match, avg(whole::INTEGER) AS value, count(*)::DOUBLE AS weight FROM (SELECT match, whole, "
        "lag(whole) OVER (PARTITION BY match ORDER BY round) AS before FROM (SELECT match, round, "
        "bool_and(cooperative) AS whole FROM decisions WHERE kind = 'act' AND cooperative IS NOT NULL "
        "GROUP BY match, round)) WHERE NOT before GROUP BY match ORDER BY match"
    ),
)
