"""What players do with a mechanism's institutions: approve, win, sign, delegate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from ostrom.analysis.determinism import Determinism
from ostrom.analysis.estimate import Estimate, estimated, partly_exact_mean
from ostrom.analysis.rundata import RunData

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


@dataclass(frozen=True, slots=True)
class Rate:
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


def conduct_rates(data: RunData) -> list[Rate]:
    """All rates that finished matches have occasions for."""
    decisions = data.records(
        "SELECT mechanism, game, agent, seat, kind, answer, match FROM decisions "
        f"WHERE {DONE} AND kind IN ('vote', 'sign', 'act') ORDER BY match, step, player"
    )
    matches = data.records(
        "SELECT mechanism, game, agent, seat, match, facts FROM matches "
        f"WHERE {DONE} AND facts IS NOT NULL ORDER BY match, player"
    )
    return rates(decisions, matches, Determinism(data.unit))


def rates(
    decisions: Iterable[Mapping[str, Any]],
    matches: Iterable[Mapping[str, Any]],
    exact: Callable[[int], bool] | None = None,
) -> list[Rate]:
    """The rates from rows of the two tables; ``facts`` say which proposals there were and which one won.

    ``exact`` says which matches would go the same way again.
    """
    facts: dict[int, dict[str, Any]] = {}
    counts: dict[tuple[str, str, str, str], dict[int, list[int]]] = {}

    def count(row: Mapping[str, Any], measure: str, times: int, occasions: int = 1) -> None:
        key = (str(row["mechanism"]), str(row["game"]), str(row["agent"]), measure)
        tally = counts.setdefault(key, {}).setdefault(row["match"], [0, 0])
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
        told = facts.get(row["match"], {})
        for measure, times, occasions in _occasions(row, told):
            count(row, measure, times, occasions)
    return [
        _rate(key, list(of.values()), exact and [exact(match) for match in of])
        for measure in MEASURES
        for key, of in counts.items()
        if key[3] == measure
    ]


def _rate(
    key: tuple[str, str, str, str], matches: Sequence[Sequence[int]], exact: Sequence[bool] | None
) -> Rate:
    """Occasions of one match are not independent: a match counts once, by its number of occasions."""
    inference, note = partly_exact_mean(
        [times / occasions for times, occasions in matches],
        exact or [False] * len(matches),
        [float(occasions) for _, occasions in matches],
        bounds=(0.0, 1.0),
    )
    times, occasions = (sum(of[place] for of in matches) for place in (0, 1))
    return Rate(*key, times, occasions, estimated({}, inference, len(matches), "match", note))


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
