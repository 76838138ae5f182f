"""The stored rounds of a unit: each player's action and payoff, whether asked or not (``settlement``).

Where every player decided freely in every round, actions and payoffs follow from the decisions. Then only meetings and
tables are stored, mostly as one number each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from ostrom.engine.plan import Unit
from ostrom.games.game import Game
from ostrom.mechanisms.protocol import Round
from ostrom.mechanisms.settlement import SettledRound, settled_rounds

Codes = NDArray[np.int64]
Columns = Mapping[str, frozenset[type]]
"""The columns of a table with the types that their values may have."""
INTEGERS, TEXT, MAYBE = frozenset({int}), frozenset({str}), frozenset({type(None)})
TEXTS, REALS, FLAGS = TEXT | MAYBE, frozenset({int, float}) | MAYBE, frozenset({bool}) | MAYBE
SETTLED: Columns = {
    "player": INTEGERS, "seat": INTEGERS, "agent": INTEGERS, "what": TEXT, "action": TEXTS, "amount": REALS,
    "cooperative": FLAGS, "payoff": REALS, "paid": REALS,
}  # fmt: skip
"""The columns stored of a player in a round, where they do not follow from its decision."""
MOST_PLAYERS = 100_000
"""The most players of a unit with stored rows, and the most rows of each of its tables."""


class RoundRows(NamedTuple):
    """Each player's action and payoff in every round: one row each, by meeting, round and player."""

    meetings: Codes
    numbers: Codes
    tables: Codes
    """The table (group) of each player; -1 for a player who met nobody, or all of its neighbours."""
    settled: list[tuple[Any, ...]]
    codes: Codes


class KeptRounds(NamedTuple):
    """The stored rounds: meetings and tables, and other columns where they do not follow from the acts."""

    meetings: list[int] | int
    tables: list[int] | int
    numbers: list[int] | None = None
    settled: list[tuple[Any, ...]] | None = None
    codes: list[int] | None = None

    def dumped(self) -> bytes:
        """Encode the rounds as JSON."""
        if self.settled is None or self.numbers is None:
            return orjson.dumps([self.meetings, self.tables])
        lists = orjson.dumps([self.meetings, self.tables, steps_of(int_array(self.numbers)).tolist(), self.codes])
        return b"[%s,%s]" % (lists[1:-1], as_columns(self.settled))

    @classmethod
    def read(cls, data: Any, players: int) -> KeptRounds:
        """Decode the rounds from JSON; raises ValueError for other content."""
        require(isinstance(data, list) and len(data) in (2, 5), "its rounds are not complete")
        *lists, settled = data if len(data) == 5 else (*data, None)
        integers = all(type(n) is int for one in lists for n in (one if isinstance(one, list) else [one]))
        require(integers, "its rounds have numbers of a wrong type")
        if settled is None:
            return cls(*lists)
        meetings, tables, steps, codes = lists
        entries = from_columns(settled, SETTLED, MOST_PLAYERS)
        complete = isinstance(steps, list) and isinstance(codes, list) and len(steps) == len(codes)
        require(complete, "its rounds are not complete")
        require(not codes or 0 <= min(codes) <= max(codes) < len(entries), "a code of its rounds is not in its table")
        require(all(0 <= entry[0] < players for entry in entries), "its rounds name other players")
        return cls(meetings, tables, list(accumulate(steps)), entries, codes)


def require(holds: bool, problem: str) -> None:
    """Raise ValueError for stored rows that are not as they must be."""
    if not holds:
        raise ValueError(problem)


def rounds_to_keep(
    unit: Unit, rounds: Sequence[Round], questions: Sequence[tuple[Any, ...]], decisions: Sequence[tuple[Any, ...]]
) -> KeptRounds:
    """Return the rounds of a match to store; ``decisions`` are the rows of its recorder."""
    game = unit.game
    acts = [row for row in decisions if row[4] is not None]
    follows = game.has_table and not unit.earlier
    if (
        follows
        and len(acts) == len(rounds) * game.seats
        and not any(r.players or r.what or r.paid or r.missed or not r.actions for r in rounds)
    ):  # nearly all matches: one table, where everybody decides once in a round
        return KeptRounds(0, 0)
    places = list(settled_rounds(game, rounds))
    at = {(one.meeting, one.number, one.player): one for one in places}
    who = {(bout, number, questions[code][0]): questions[code] for _, number, code, _, bout, _ in acts}
    if (
        follows
        and all(one.what == "chose" and one.paid is None for one in places)
        and len(acts) == len(places)
        and who.keys() == at.keys()
    ):
        met = [at[bout, number, questions[code][0]] for _, number, code, _, bout, _ in acts]
        return KeptRounds(_numbers_or_one(one.meeting for one in met), _numbers_or_one(_table(one) for one in met))
    moves = {
        (r.facts.get("bout", 0), r.number, player): r for r in rounds for player in (r.players or range(len(r.payoffs)))
    }
    ways, entries, codes = dict[int, int](), dict[tuple[Any, ...], int](), list[int]()
    for one in places:
        key = (one.meeting, one.number, one.player)
        decided, played = who.get(key), moves[key]
        ways[one.player] = played.facts.get("way", ways.get(one.player, one.player))
        agent = unit.decides(ways[one.player], number=one.number)
        seat = one.seat
        if decided is not None:
            _, seat, agent, *_ = decided
            ways[one.player] = agent % len(unit.players)
        entry = (one.player, seat, agent, one.what, *_done(game, seat, one, played), one.payoff, one.paid)
        codes.append(entries.setdefault(entry, len(entries)))
    return KeptRounds(
        _numbers_or_one(one.meeting for one in places), _numbers_or_one(_table(one) for one in places),
        [one.number for one in places], list(entries), codes,
    )  # fmt: skip


def steps_of(numbers: Codes) -> Codes:
    """Return the difference of each number to the one before."""
    return np.diff(numbers, prepend=0)


def as_columns(table: Sequence[tuple[Any, ...]]) -> bytes:
    """Encode a table as JSON by column; a constant column is one value."""
    return orjson.dumps([len(table), *(c[0] if _constant(c) else c for c in zip(*table, strict=True))])


def _constant(column: Sequence[Any]) -> bool:
    first = column[0]
    if first is None or isinstance(first, str):
        return column.count(first) == len(column)
    return len(set(map(repr, column))) == 1  # 1, 1.0 and True are equal and not the same, as 0.0 and -0.0 are


def from_columns(columns: list[Any], names: Columns, most: int) -> list[tuple[Any, ...]]:
    count, *lists = columns
    if count == 0:
        return []
    if not 0 < count <= most or len(lists) != len(names):
        raise ValueError(f"a table of {count} rows has {len(lists)} columns and not {len(names)}")
    for column, (name, types) in zip(lists, names.items(), strict=True):
        if not {*map(type, column if isinstance(column, list) else [column])} <= types:
            raise ValueError(f"the column {name} has values of a wrong type")
    table = list(zip(*(c if isinstance(c, list) else [c] * count for c in lists), strict=True))
    if len(table) != count:
        raise ValueError(f"a table has {len(table)} rows and not {count}")
    return table


def int_array(numbers: Sequence[int]) -> Codes:
    return np.array(numbers, dtype=np.int64)


def _numbers_or_one(numbers: Iterable[int]) -> list[int] | int:
    """Return the numbers as a list, or as one number if all are equal."""
    listed = list(numbers)
    return listed[0] if listed and len(set(listed)) == 1 else listed


def _table(one: SettledRound) -> int:
    return -1 if one.table is None else one.table


def _done(game: Game, seat: int, one: SettledRound, played: Round) -> tuple[str | None, float | None, bool | None]:
    """Return a player's last action in a round, its amount, and whether it is cooperative; None without a move."""
    if one.action is None:
        return None, None, None
    cooperative = game.cooperates(seat, one.action)
    if game.has_table:
        return game.actions[seat][one.action], None, cooperative
    value = [move["value"] for move in played.facts["moves"] if move["seat"] == one.seat][-1]
    return str(value), None if isinstance(value, str) else float(value), cooperative
