"""Stock: what is there to harvest, round by round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.analysis.round_facts import round_facts
from ostrom.data.rundata import RunData


def _values(data: RunData) -> Iterable[Mapping[str, Any]]:
    for (match, number), stock in round_facts(data, "stock", "stock_by_round").items():
        yield {"match": match, "round": number, "value": stock}


MEASURE = Measure(
    name="stock_by_round",
    title="Stock",
    scale="number",
    definition=(
        "What a common stock holds before the harvest of each round, as the game states it (the fact 'stock' of the "
        "round); nothing once it has collapsed."
    ),
    needs=("decisions.facts",),
    values=_values,
    columns=("round",),
)
