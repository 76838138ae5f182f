"""Acceptance threshold: the smallest offer that a player accepts."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="acceptance_threshold",
    title="Smallest accepted offer",
    scale="share",
    definition=(
        "The smallest share of the stake that a player says it accepts (strategy method, mean over the "
        "rounds of a match), or else the smallest share that it has accepted in a match, which its threshold"
        " is not above. Who accepts nothing has no value."
    ),
    needs=("decisions.amount",),
    source="Güth, Schmittberger and Schwarze (1982)",
    values=(
        "WITH offers AS (SELECT match, round, step, (amount - least) / (most - least) AS share FROM "
        "decisions WHERE amount IS NOT NULL AND most > least AND stage <> 'least'), accepted AS (SELECT "
        "match, round, step, player FROM decisions WHERE stage IS NOT NULL AND action = 'accept'), answered "
        "AS (SELECT a.match, a.player, arg_max(o.share, o.step) AS share FROM accepted a JOIN offers o ON "
        "o.match = a.match AND o.round = a.round AND o.step < a.step GROUP BY a.match, a.round, a.step, "
        "a.player) SELECT match, player, min(share) AS value FROM answered GROUP BY match, player UNION ALL "
        "SELECT match, player, avg((amount - least) / (most - least)) AS value FROM decisions WHERE stage = "
        "'least' AND amount IS NOT NULL AND most > least GROUP BY match, player ORDER BY match, player"
    ),
)
