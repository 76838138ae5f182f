"""Memory-one response table: how often a player cooperates at first and after CC, CD, DC and DD."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ostrom.analysis.intervals import mean_of
from ostrom.analysis.statistics.counts import wilson
from ostrom.analysis.statistics.result import Interval, StatisticsResult
from ostrom.analysis.statistics.samples import BadSample, Numbers, binary, same_length

STATES = ("first", "CC", "CD", "DC", "DD")
"""The player's own last move, then the other's."""


@dataclass(frozen=True)
class PlayedPair:
    """Moves of one player and of the other in one match, 1 = cooperate, in the order of rounds."""

    match: Hashable
    own: Numbers
    other: Numbers


@dataclass(frozen=True)
class StateResponse(StatisticsResult):
    """P(cooperate | state). Never reached: `estimate` and both intervals are None.

    `wilson_ci` takes rounds as independent and is shown for comparison; `cluster_ci` takes matches as independent and
    is the one to quote. It is None, with a `note`, when fewer than 2 matches reach the state.
    """

    state: str
    estimate: float | None
    cooperations: int
    n: int
    n_matches: int
    wilson_ci: Interval | None
    cluster_ci: Interval | None
    note: str | None


@dataclass(frozen=True)
class ResponseTable(StatisticsResult):
    """All five states of one player."""

    responses: tuple[StateResponse, ...]
    n_matches: int
    unit: str

    def __getitem__(self, state: str) -> StateResponse:
        for line in self.responses:
            if line.state == state:
                return line
        raise BadSample(f"unknown state {state!r} (allowed: {', '.join(STATES)})")

    def rows(self) -> list[dict[str, Any]]:
        """One plain row per state."""
        return [line.as_dict() | {"unit": self.unit} for line in self.responses]


def response_table(played: Sequence[PlayedPair], *, level: float = 0.95) -> ResponseTable:
    """Count responses over matches; the unit of the cluster intervals is the match.

    >>> matches = [PlayedPair(m, [1, 0, 1], [0, 1, 1]) for m in range(4)]
    >>> table = response_table(matches)
    >>> table["CD"].estimate, table["CD"].n, table["DD"].estimate
    (0.0, 4, None)
    """
    if not played:
        raise BadSample("a response table needs at least one match (found none)")
    moves: list[float] = []
    states: list[str] = []
    matches: list[Hashable] = []
    for item in played:
        own, other = (
            binary(side, f"match {item.match!r}: {name} moves")
            for side, name in ((item.own, "own"), (item.other, "other"))
        )
        same_length(f"match {item.match!r}: own moves", own.size, "other moves", other.size)
        letters = np.where(own == 1, "C", "D"), np.where(other == 1, "C", "D")
        states += ["first", *(a + b for a, b in zip(letters[0][:-1], letters[1][:-1], strict=True))]
        moves += own.tolist()
        matches += [item.match] * own.size
    lines = tuple(_response(state, moves, states, matches, level) for state in STATES)
    return ResponseTable(lines, len(set(matches)), "match")


def _response(
    state: str, moves: list[float], states: list[str], matches: list[Hashable], level: float
) -> StateResponse:
    reached = [index for index, item in enumerate(states) if item == state]
    if not reached:
        return StateResponse(state, None, 0, 0, 0, None, None, "never reached")
    at, inside = [moves[index] for index in reached], [matches[index] for index in reached]
    rounds = wilson(int(sum(at)), len(at), unit="round", level=level)
    found = mean_of(at, bounds=(0.0, 1.0), clusters=inside).limits(level)
    ci = None if found.low is None or found.high is None else Interval(found.low, found.high, level)
    return StateResponse(
        state, rounds.estimate, rounds.successes, len(at), len(set(inside)), rounds.ci, ci,
        found.note or None if ci is None else None,
    )  # fmt: skip
