"""Reciprocity: how much more a player gives back for every unit more that it was given."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="reciprocity_slope",
    title="Reciprocity",
    scale="number",
    definition=(
        "The least-squares slope, over the rounds of a match and at each stage, of the amount by which a player "
        "answers on the amount that others named last before it in the same round, their mean where several did so at "
        "the same time (what is returned on what was sent, effort on the wage). A player who was always given "
        "the same has no value."
    ),
    needs=("decisions.amount",),
    values=(
        "WITH named AS (SELECT match, round, step, stage, player, amount FROM decisions WHERE amount IS NOT NULL), "
        "before AS (SELECT b.match, b.player, b.round, b.step, b.stage, b.amount AS answer, a.step AS latest, "
        "avg(a.amount) AS given FROM named b JOIN named a ON a.match = b.match AND a.round = b.round AND a.step < "
        "b.step AND a.player <> b.player GROUP BY ALL), "
        "pairs AS (SELECT * FROM before QUALIFY latest = max(latest) OVER (PARTITION BY match, player, round, step)), "
        "spread AS (SELECT match, player, stage, regr_slope(answer, given) AS value, max(given) - min(given) AS "
        "width FROM pairs GROUP BY match, player, stage) "
        "SELECT match, player, stage, value FROM spread WHERE width > 0 ORDER BY match, player, stage"
    ),
    columns=("stage",),
)
