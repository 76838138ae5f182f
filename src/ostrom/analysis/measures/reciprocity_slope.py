"""Reciprocity: how much more a player gives back for every unit more that it was given."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="reciprocity_slope",
    title="Reciprocity",
    scale="number",
    definition=(
        "The least-squares slope, over the rounds of a match, of the amount by which a player answers on the"
        " amount that another one named before it in the same round (what is returned on what was sent, "
        "effort on the wage). A player who was always given the same has no value."
    ),
    needs=("decisions.amount",),
    values=(
        "WITH named AS (SELECT match, round, step, player, amount FROM decisions WHERE amount IS NOT NULL), "
        "pairs AS (SELECT b.match, b.player, b.round, b.step, any_value(b.amount) AS answer, "
        "arg_max(a.amount, a.step) AS given FROM named b JOIN named a ON a.match = b.match AND a.round = "
        "b.round AND a.step < b.step AND a.player <> b.player GROUP BY b.match, b.player, b.round, b.step), "
        "spread AS (SELECT match, player, regr_slope(answer, given) AS value, max(given) - min(given) AS "
        "width FROM pairs GROUP BY match, player) SELECT match, player, value FROM spread WHERE width > 0 "
        "ORDER BY match, player"
    ),
)
