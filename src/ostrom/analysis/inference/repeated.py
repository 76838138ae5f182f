"""The finished repeated matches between two players that a run holds, as strategies see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ostrom.analysis.rundata import RunData, quoted
from ostrom.errors import UsageError
from ostrom.games.game import Game
from ostrom.mechanisms.protocol import NOTHING, Round

ACTS = "kind = 'act' AND unit = 'match' AND state = 'done' AND seat IS NOT NULL"


@dataclass(frozen=True, slots=True)
class RepeatedMatch:
    """One match: its executed rounds and who sat where; ``within`` holds the levels it was played at."""

    match: int
    game: Game
    mechanism: str
    told: Mapping[str, Any]
    agents: tuple[str, str]
    rounds: tuple[Round, ...]
    noise: float
    """The chance with which the mechanism itself changes a move."""
    within: Mapping[str, Any]

    def moves(self, seat: int) -> tuple[int, ...]:
        """What a seat (from 0) did: 1 is cooperation."""
        cooperative = self.game.cooperative[seat]
        return tuple(int(r.actions[seat] == cooperative) for r in self.rounds)


@dataclass(frozen=True, slots=True)
class RepeatedMatches:
    """All such matches, and why others are not among them."""

    matches: tuple[RepeatedMatch, ...]
    notes: tuple[str, ...]


def repeated_matches(data: RunData, by: Sequence[str] = ()) -> RepeatedMatches:
    """Read them from the table of decisions; a run that has none is refused with the reason."""
    data.need("decisions", by)
    names = ("match", "round", "seat", "agent", "action", "payoff", *by)
    picked = ", ".join(quoted(name) for name in dict.fromkeys(names))
    rows = data.records(f"SELECT {picked} FROM decisions WHERE {ACTS} ORDER BY match, round, seat")
    if not rows:
        raise UsageError(f"{data.name}: no match is finished, so there are no moves to infer strategies from")
    kept, why = list[RepeatedMatch](), dict[str, int]()
    for match, lines in groupby(rows, key=lambda row: row["match"]):
        made = _match(data, match, list(lines), by)
        if isinstance(made, RepeatedMatch):
            kept.append(made)
        else:
            why[made] = why.get(made, 0) + 1
    if not kept:
        told = "; ".join(f"{reason} ({count} matches)" for reason, count in why.items())
        raise UsageError(f"{data.name}: has no finished repeated match to infer strategies from: {told}")
    notes = tuple(f"{count} matches are left out: {reason}" for reason, count in why.items())
    return RepeatedMatches(tuple(kept), notes)


def _match(data: RunData, match: int, rows: list[dict[str, Any]], by: Sequence[str]) -> RepeatedMatch | str:
    """A match, or why it is none of ours."""
    unit = data.unit(match)
    game, players = unit.game, sum(not player.observes for player in unit.players)
    if game.seats != 2 or players != 2:
        return f"game {game.name} was played by {max(game.seats, players)} players, not by two"
    if None in game.cooperative or None in game.defective:
        return f"game {game.name} defines no cooperative action"
    rounds = tuple(_rounds(game, rows))
    if len(rounds) < 2:
        return "a single round was played"
    if any(not r.actions for r in rounds):
        return "a round has no action for one of the seats"
    first = {row["seat"]: row["agent"] for row in rows}
    mechanism = unit.mechanism
    return RepeatedMatch(
        match, game, mechanism.name, getattr(mechanism, "told", NOTHING), (first[1], first[2]), rounds,
        float(getattr(mechanism, "noise", 0.0)), {name: rows[0][name] for name in by},
    )  # fmt: skip


def _rounds(game: Game, rows: list[dict[str, Any]]) -> Iterator[Round]:
    """The rounds in order; one in which a seat has no action (or more than one) comes without actions."""
    for number, lines in groupby(rows, key=lambda row: row["round"]):
        seats = list(lines)
        if [row["seat"] for row in seats] != [1, 2] or any(row["action"] is None for row in seats):
            yield Round(number, (), ())
            continue
        actions = tuple(game.index_of(s)[row["action"]] for s, row in enumerate(seats))
        yield Round(number, actions, tuple(float(row["payoff"]) for row in seats))
