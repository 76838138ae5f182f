"""How often each action is chosen, by mechanism, game and type; delegating counts as a choice of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from ostrom.data.rundata import RunData

DONE = "state = 'done' AND unit = 'match'"


@dataclass(frozen=True, slots=True)
class ActionShare:
    """The share of one choice among the choices of a type in a cell."""

    mechanism: str
    game: str
    agent: str
    choice: str
    chosen: int
    decisions: int
    matches: int
    stated: float | None
    """The mean probability that was stated for it, where all decisions of the type come with odds."""

    @property
    def share(self) -> float:
        """How often it was chosen."""
        return self.chosen / self.decisions


def action_shares(data: RunData) -> list[ActionShare]:
    """The choices of finished matches; choices that a game offers and nobody took are listed with 0."""
    rows = data.records(
        "SELECT mechanism, game, agent, seat, answer, probabilities, count(*) AS n, min(match) AS first, "
        f"list(DISTINCT match) AS matches FROM decisions WHERE {DONE} AND kind = 'act' "
        "GROUP BY mechanism, game, agent, seat, answer, probabilities ORDER BY first, agent, seat"
    )
    cells: dict[tuple[str, str, str], _Tally] = {}
    for row in rows:
        key = (str(row["mechanism"]), str(row["game"]), str(row["agent"]))
        tally = cells.setdefault(key, _Tally())
        tally.offer(data.unit(row["first"]).game.actions[row["seat"] - 1])
        tally.add(row)
    return [
        ActionShare(
            *key,
            choice,
            tally.chosen[choice],
            tally.decisions,
            len(tally.matches),
            tally.stated[choice] / tally.decisions if tally.known == tally.decisions else None,
        )
        for key, tally in cells.items()
        for choice in tally.chosen
    ]


class _Tally:
    """The choices of one cell and type."""

    def __init__(self) -> None:
        self.chosen: dict[str, int] = {}
        self.stated: dict[str, float] = {}
        self.decisions = self.known = 0
        self.matches: set[int] = set()

    def offer(self, choices: tuple[str, ...]) -> None:
        for choice in choices:
            self.chosen.setdefault(choice, 0)
            self.stated.setdefault(choice, 0.0)

    def add(self, row: Mapping[str, Any]) -> None:
        count, odds = row["n"], orjson.loads(row["probabilities"]) if row["probabilities"] else None
        self.offer((row["answer"], *(odds or ())))
        self.chosen[row["answer"]] += count
        self.decisions += count
        self.matches.update(row["matches"])
        if odds is not None:
            self.known += count
            for choice, p in odds.items():
                self.stated[choice] += count * p
