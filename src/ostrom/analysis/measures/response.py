"""Response to planted members: how the others act towards the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData


def _values(data: RunData) -> Iterable[Mapping[str, Any]]:
    rows = data.records(
        "WITH acts AS (SELECT match, player, round, cooperative, max(round) OVER (PARTITION BY match) AS rounds "
        "FROM decisions WHERE kind = 'act' AND cooperative IS NOT NULL) "
        "SELECT a.match, m.agent, avg(a.cooperative::INTEGER) AS value, count(*) AS weight FROM acts a "
        "JOIN matches m ON m.match = a.match AND m.player = a.player WHERE a.round > a.rounds - ceil(a.rounds / 4.0) "
        "GROUP BY a.match, m.agent ORDER BY a.match, m.agent"
    )
    planted: dict[int, str | None] = {}
    for row in rows:
        match = row["match"]
        if match not in planted:
            plant = getattr(data.unit(match).mechanism, "plant", None)
            planted[match] = None if plant is None else plant.type
    return [row for row in rows if row["agent"] != planted[row["match"]]]


MEASURE = Measure(
    name="response",
    title="Cooperation of those who were there",
    scale="share",
    definition=(
        "The share of cooperative actions in the last quarter of a match, among all members but those who were planted "
        "(column agent: the type that a member began as)."
    ),
    needs=("decisions.cooperative",),
    values=_values,
)
