"""Over-use: how often a player takes more than its part of what a stock can give for ever."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.analysis.round_facts import round_facts
from ostrom.data.rundata import RunData

ROUNDING = 1e-9

TAKEN = (
    "WITH named AS (SELECT match, player, round, step, stage, amount FROM decisions WHERE kind = 'act' AND amount IS "
    "NOT NULL), stated AS (SELECT match, round, json_extract_string(facts, '$.taken_at') AS stage FROM decisions WHERE "
    "facts IS NOT NULL), stages AS (SELECT n.match, n.round, coalesce(any_value(s.stage), arg_min(n.stage, n.step)) AS "
    "stage FROM named n LEFT JOIN stated s ON s.match = n.match AND s.round = n.round GROUP BY n.match, n.round) "
    "SELECT n.match, n.player, n.round, sum(n.amount) AS taken FROM named n JOIN stages t ON t.match = n.match AND "
    "t.round = n.round AND t.stage = n.stage GROUP BY ALL ORDER BY n.match, n.player, n.round"
)
"""What a player takes in a round: what it names at the first stage with amounts, or at the one that the game states."""


def _values(data: RunData) -> Iterable[Mapping[str, Any]]:
    sustainable = round_facts(data, "sustainable", "over_use")
    counted: dict[tuple[int, int], list[bool]] = {}
    for row in data.records(TAKEN):
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
        "that the stock grows back to what it was (the fact 'sustainable' that the game states of the round). A player "
        "takes what it names at the first stage of a round that asks for amounts, or at the one that the fact "
        "'taken_at' names."
    ),
    needs=("decisions.amount", "decisions.facts"),
    source="Piatti et al. (2024), Cooperate or Collapse",
    values=_values,
)
