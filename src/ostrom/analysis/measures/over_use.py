"""Over-use: how often a player takes more than its part of what a stock can give for ever."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.analysis.round_facts import round_facts
from ostrom.analysis.rundata import RunData

ROUNDING = 1e-9


def _values(data: RunData) -> Iterable[Mapping[str, Any]]:
    sustainable = round_facts(data, "sustainable", "over_use")
    counted: dict[tuple[int, int], list[bool]] = {}
    for row in data.records(
        "SELECT match, player, round, sum(amount) AS taken FROM decisions WHERE kind = 'act' AND amount IS NOT NULL "
        "GROUP BY match, player, round ORDER BY match, player, round"
    ):
        lasting = sustainable.get((row["match"], row["round"]))
        if lasting is not None:
            part = lasting / data.game(row["match"]).seats
            counted.setdefault((row["match"], row["player"]), []).append(row["taken"] > part + ROUNDING)
    for (match, player), over in counted.items():
        yield {"match": match, "player": player, "value": sum(over) / len(over)}


MEASURE = Measure(
    name="over_use",
    title="Over-use",
    scale="share",
    definition=(
        "The share of the rounds of a match in which a player takes more than an equal part of what can be taken so "
        "that the stock grows back to what it was (the fact 'sustainable' that the game states of the round)."
    ),
    needs=("decisions.amount", "decisions.facts"),
    source="Piatti et al. (2024), Cooperate or Collapse",
    values=_values,
)
