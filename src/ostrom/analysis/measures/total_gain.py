"""Total gain: what a player is paid in a whole match."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.analysis.totals import totals
from ostrom.data.rundata import RunData


def _values(data: RunData) -> Iterable[Mapping[str, Any]]:
    for match, paid in totals(data).items():
        for player, total in paid.items():
            yield {"match": match, "player": player, "value": total}


MEASURE = Measure(
    name="total_gain",
    title="Total gain",
    scale="points",
    definition="The sum of what a player is paid over all rounds of a match.",
    needs=("decisions.payoff",),
    values=_values,
)
