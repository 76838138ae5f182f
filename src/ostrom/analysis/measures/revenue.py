"""Revenue: what the winner of an auction pays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.analysis.round_facts import round_facts
from ostrom.data.rundata import RunData


def _values(data: RunData) -> Iterable[Mapping[str, Any]]:
    prices: dict[int, list[float]] = {}
    for (match, _), price in round_facts(data, "price", "revenue").items():
        prices.setdefault(match, []).append(price)
    for match, paid in prices.items():
        yield {"match": match, "value": fsum(paid) / len(paid)}


MEASURE = Measure(
    name="revenue",
    title="Revenue",
    scale="points",
    definition=(
        "The price that the winner of an auction pays (the fact 'price' that the game states of the round), averaged "
        "over the rounds of a match."
    ),
    needs=("decisions.facts",),
    source="Vickrey (1961)",
    values=_values,
)
