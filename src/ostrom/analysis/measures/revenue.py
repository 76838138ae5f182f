"""Revenue: what the winner of an auction pays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum
from typing import Any

import orjson

from ostrom.analysis.measure import Measure
from ostrom.analysis.rundata import RunData


def _values(data: RunData) -> Iterable[Mapping[str, Any]]:
    for row in data.records(
        "SELECT match, facts FROM matches WHERE player = 1 AND facts IS NOT NULL ORDER BY match"
    ):
        rounds = orjson.loads(row["facts"]).get("hidden", ())
        paid = [float(each["price"]) for each in rounds if "price" in each]
        if paid:
            yield {"match": row["match"], "value": fsum(paid) / len(paid)}


MEASURE = Measure(
    name="revenue",
    title="Revenue",
    scale="points",
    definition="The price that the winner of an auction pays, averaged over the rounds of a match.",
    needs=("decisions.stage", "matches.facts"),
    source="Vickrey (1961)",
    values=_values,
)
