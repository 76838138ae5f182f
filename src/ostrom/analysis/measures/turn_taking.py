"""Turn-taking: how often all players change together to another common action."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="turn_taking",
    title="Turn-taking",
    scale="share",
    definition=(
        "The share of the rounds of a match after the first in which all players play the action of the same name, "
        "as they did in the round before with another action."
    ),
    needs=("decisions.action",),
    values=(
        "WITH rounds AS (SELECT match, round, CASE WHEN min(action) = max(action) THEN min(action) END AS common "
        "FROM decisions WHERE kind = 'act' AND action IS NOT NULL GROUP BY match, round), "
        "steps AS (SELECT match, round, common, lag(common) OVER acts AS before, row_number() OVER acts AS place "
        "FROM rounds WINDOW acts AS (PARTITION BY match ORDER BY round)) "
        "SELECT match, avg(coalesce(common <> before, false)::INTEGER) AS value FROM steps WHERE place > 1 "
        "GROUP BY match"
    ),
    source="Akata et al. (2025); Lau and Mui (2008)",
)
