"""Share of a type: how many players decide as each type, round by round."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="share_of_type",
    title="Share of players by type",
    scale="share",
    definition=(
        "The share of the players of a round who play as a type (columns round, agent): how ways of playing spread."
    ),
    needs=("decisions.agent",),
    values=(
        "WITH acts AS (SELECT match, round, agent, count(*) AS n FROM decisions WHERE kind = 'act' GROUP BY ALL), "
        "types AS (SELECT DISTINCT match, agent FROM matches WHERE seat IS NOT NULL), "
        "rounds AS (SELECT match, round, sum(n) AS players FROM acts GROUP BY match, round) "
        "SELECT r.match, r.round, t.agent, coalesce(a.n, 0) / r.players::DOUBLE AS value FROM rounds r "
        "JOIN types t ON t.match = r.match LEFT JOIN acts a ON a.match = r.match AND a.round = r.round "
        "AND a.agent = t.agent ORDER BY r.match, r.round, t.agent"
    ),
    columns=("round",),
)
