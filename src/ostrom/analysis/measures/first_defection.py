"""First defection: how long a player cooperates before it defects for the first time."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="first_defection",
    title="Rounds before the first defection",
    scale="share",
    definition=(
        "The share of a player's actions in a match that come before its first defection: "
        "0 where it begins with one, 1 where it never defects."
    ),
    needs=("decisions.cooperative",),
    values=(
        "SELECT match, player, avg((round < first)::INTEGER) AS value FROM ("
        "SELECT match, player, round, coalesce(min(CASE WHEN NOT cooperative THEN round END) "
        "OVER (PARTITION BY match, player), 2147483647) AS first FROM decisions "
        "WHERE kind = 'act' AND cooperative IS NOT NULL) GROUP BY match, player"
    ),
)
