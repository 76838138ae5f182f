"""Time to repair: how long a breakdown of cooperation lasts."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="repair_time",
    title="Rounds until cooperation is repaired",
    scale="count",
    definition=(
        "The mean length, in rounds, of the stretches in which not all players cooperate. A stretch that lasts to the "
        "end of the match counts with the rounds it lasted, so that a repair that never came is underestimated. "
        "Matches in which cooperation never broke have no value."
    ),
    needs=("decisions.cooperative",),
    values=(
        "SELECT match, count(*) FILTER (NOT whole) / count(*) FILTER (NOT whole AND coalesce(before, true))::DOUBLE "
        "AS value FROM (SELECT match, whole, lag(whole) OVER (PARTITION BY match ORDER BY round) AS before FROM ("
        "SELECT match, round, bool_and(cooperative) AS whole FROM decisions "
        "WHERE kind = 'act' AND cooperative IS NOT NULL GROUP BY match, round)) "
        "GROUP BY match HAVING count(*) FILTER (NOT whole) > 0 ORDER BY match"
    ),
)
