"""Last switch: how far into a match a player still changes between cooperation and defection."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="last_switch",
    title="Last switch between cooperation and defection",
    scale="share",
    definition=(
        "The place of the last round in which a player does not repeat its action of the round before, as a share of "
        "the rounds of the match; 0 where it never switches. Small means that behaviour is locked in early."
    ),
    needs=("decisions.cooperative",),
    values=(
        "SELECT match, player, coalesce(max(CASE WHEN cooperative <> before THEN round END), 0) / max(round)::DOUBLE "
        "AS value FROM (SELECT match, player, round, cooperative, "
        "lag(cooperative) OVER (PARTITION BY match, player ORDER BY round) AS before FROM decisions "
        "WHERE kind = 'act' AND cooperative IS NOT NULL) GROUP BY match, player HAVING count(*) > 1"
    ),
)
