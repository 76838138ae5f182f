"""Over-use: how often a player takes more than its part of what a stock can give for ever."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.analysis.rundata import RunData

ROUNDING = 1e-9


def _values(data: RunData) -> Iterable[Mapping[str, Any]]:
    counted: dict[tuple[int, int], list[bool]] = {}
    for row in data.records(
        "SELECT match, player, amount, most FROM decisions WHERE stage = 'harvest' AND amount IS NOT NULL "
        "ORDER BY match, player, round"
    ):
        params = data.game(row["match"]).params
        if "regrowth" not in params:
            continue
        # What is left has to grow back to what there was before the harvest.
        part = row["most"] * (1 - 1 / params["regrowth"]) / params["n"]
        counted.setdefault((row["match"], row["player"]), []).append(row["amount"] > part + ROUNDING)
    for (match, player), over in counted.items():
        yield {"match": match, "player": player, "value": sum(over) / len(over)}


MEASURE = Measure(
    name="over_use",
    title="Over-use",
    scale="share",
    definition=(
        "The share of a player's harvests in a match that are larger than an equal part of what can be taken"
        " so that the stock grows back to what it was."
    ),
    needs=("decisions.amount",),
    source="Piatti et al. (2024), Cooperate or Collapse",
    values=_values,
)
