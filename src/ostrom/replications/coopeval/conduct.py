"""What players do with a mechanism's institutions (approve, win, sign, delegate), and how often each action is chosen.

Delegating counts as a choice of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from ostrom.analysis.estimate import Estimate, estimate
from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData

DONE = "state = 'done' AND unit = 'match'"

MEASURES: Mapping[str, str] = {
    "approves": "approves a proposal",
    "approves_own": "approves its own proposal",
    "wins": "its proposal is chosen",
    "signs": "signs the contract",
    "in_force": "the contract is in force",
    "delegates": "delegates to the mediator",
}
"""What is counted, in words."""


Place = tuple[int, int]
"""Match and player."""
BY = ("mechanism", "game", "agent")


@dataclass(frozen=True, slots=True)
class ConductRate:
    """How often a type did something out of the occasions it had."""

    mechanism: str
    game: str
    agent: str
    measure: str
    times: int
    occasions: int
    estimate: Estimate
    """The share of occasions; the unit of its interval is a match."""

    @property
    def share(self) -> float:
        """The share of occasions."""
        return self.times / self.occasions


def conduct_measure(name: str, definition: str) -> Measure:
    """The measure of one of the ``MEASURES``; a match weighs by its occasions."""

    def values(data: RunData) -> Iterator[Mapping[str, Any]]:
        for (match, player), (times, occasions) in tallies(*_rows(data)).get(name, {}).items():
            yield {"match": match, "player": player, "value": times / occasions, "weight": float(occasions)}

    return Measure(
        name=name,
        title=MEASURES[name].capitalize(),
        scale="share",
        definition=definition,
        values=values,
        needs=("matches.facts", "decisions.answer"),
        source="Tewolde et al. (2026), CoopEval",
    )


def conduct_rates(data: RunData) -> list[ConductRate]:
    """All rates that finished matches have occasions for."""
    decisions, matches = _rows(data)
    types = {(row["match"], row["player"]): _type(row) for row in (*decisions, *matches)}
    found = tallies(decisions, matches)
    made = []
    for name in MEASURES:
        counts: dict[tuple[str, str, str], list[int]] = {}
        for place, (times, occasions) in found.get(name, {}).items():
            tally = counts.setdefault(types[place], [0, 0])
            tally[0] += times
            tally[1] += occasions
        if counts:
            shares = {_type(e.key): e for e in estimate(data, name, BY)}
            made += [
                ConductRate(*key, name, times, occasions, shares[key])
                for key, (times, occasions) in counts.items()
            ]
    return made


def tallies(
    decisions: Iterable[Mapping[str, Any]], matches: Iterable[Mapping[str, Any]]
) -> dict[str, dict[Place, list[int]]]:
    """Times and occasions by measure, match and player; ``facts`` say which proposals there were and which won."""
    facts: dict[int, dict[str, Any]] = {}
    counts: dict[str, dict[Place, list[int]]] = {}

    def count(row: Mapping[str, Any], measure: str, times: int, occasions: int = 1) -> None:
        tally = counts.setdefault(measure, {}).setdefault((row["match"], row["player"]), [0, 0])
        tally[0] += times
        tally[1] += occasions

    for row in matches:
        told = facts.setdefault(row["match"], orjson.loads(row["facts"]))
        own = _own_label(told, row["seat"])
        if own is not None:
            count(row, "wins", told.get("winner") == own)
        if "in_force" in told:
            count(row, "in_force", bool(told["in_force"]))
    for row in decisions:
        for measure, times, occasions in _occasions(row, facts.get(row["match"], {})):
            count(row, measure, times, occasions)
    return counts


def _rows(data: RunData) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    decisions = data.records(
        "SELECT mechanism, game, agent, seat, kind, answer, match, player FROM decisions "
        f"WHERE {DONE} AND kind IN ('vote', 'sign', 'act') ORDER BY match, step, player"
    )
    matches = data.records(
        "SELECT mechanism, game, agent, seat, match, player, facts FROM matches "
        f"WHERE {DONE} AND facts IS NOT NULL ORDER BY match, player"
    )
    return decisions, matches


def _type(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(row["mechanism"]), str(row["game"]), str(row["agent"])


def _occasions(row: Mapping[str, Any], told: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    if row["kind"] == "act":
        if "delegated" in told:
            yield "delegates", int(told["delegated"][row["seat"] - 1]), 1
        return
    answer = orjson.loads(row["answer"])
    if row["kind"] == "sign":
        yield "signs", int(answer["sign"]), 1
        return
    labels = _labels(told)
    approved = [label for label in labels if answer.get(label)]
    if labels:
        yield "approves", len(approved), len(labels)
        own = _own_label(told, row["seat"])
        yield "approves_own", int(own in approved), 1


def _labels(told: Mapping[str, Any]) -> Sequence[str]:
    return [proposal["label"] for proposal in told.get("proposals", ())]


def _own_label(told: Mapping[str, Any], seat: int) -> str | None:
    return next((p["label"] for p in told.get("proposals", ()) if p["seat"] == seat - 1), None)


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
