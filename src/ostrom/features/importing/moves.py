"""Reads matches and games from a table: cells are grouped into moves; checks come later."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import isfinite
from operator import le, lt
from pathlib import Path
from typing import Any

from ostrom.features.importing.mapping import GameByColumn, Mapping, SeatColumns, Value, canonical
from ostrom.features.importing.table import SourceRow, SourceTable
from ostrom.games import build_game
from ostrom.games.game import Game
from ostrom.games.ordinal import OrdinalGame, classify, ordinal_game
from ostrom.games.ordinal_table import CELLS
from ostrom.games.ordinal_table import read_table as read_games
from ostrom.ground.errors import GameError, OstromError, StudyError
from ostrom.ground.values import grouped
from ostrom.ground.words import join_words


@dataclass(frozen=True, slots=True)
class Move:
    """What one seat did in one round, as recorded, with its row and columns."""

    row: SourceRow
    """The row of the cell; other columns may be needed to decode the answer."""
    columns: SeatColumns
    action: str | None
    payoff: str | None
    total: str | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """One match as recorded: the moves of every round, by seat."""

    file: str
    first: SourceRow
    players: tuple[str, ...]
    rounds: tuple[tuple[Move, ...], ...]
    unit: str = "line"

    @property
    def lines(self) -> str:
        """The lines or records of the match in its file, for messages."""
        return span(self.unit, [move.row.number for moves in self.rounds for move in moves] or [self.first.number])


def span(unit: str, numbers: Sequence[int]) -> str:
    """Return the range of rows as text, for messages.

    >>> span("line", [3, 2]), span("record", [7])
    ('lines 2-3', 'record 7')
    """
    low, high = min(numbers), max(numbers)
    return f"{unit} {low}" if low == high else f"{unit}s {low}-{high}"


def put_together(table: SourceTable, mapping: Mapping, lines: list[SourceRow]) -> Recorded:
    """Build a match from its rows; raises StudyError if they are invalid."""
    if mapping.rows == "match":
        return _from_texts(table, mapping, lines)
    return _wide(table, mapping, lines) if mapping.players is None else _long(table, mapping, mapping.players, lines)


def match_rows(table: SourceTable, mapping: Mapping) -> Iterator[list[SourceRow]]:
    """Yield the rows of every match, in the order in which matches begin."""
    rule = mapping.match
    if rule is None:
        yield from ([line] for line in table.lines)
        return
    pieces = [
        piece
        for lines in grouped((tuple(canonical(line[c]) for c in rule.by), line) for line in table.lines).values()
        for piece in _pieces(table, rule.new_when, lines, mapping)
    ]
    yield from sorted(pieces, key=lambda piece: piece[0].number)


def _pieces(
    table: SourceTable, column: str | None, lines: list[SourceRow], mapping: Mapping
) -> Iterator[list[SourceRow]]:
    """Split rows where the values of a column stop increasing; in long tables, where they decrease."""
    if column is None:
        yield lines
        return
    numbers = [read_number(table, line, column) for line in lines]
    begins = lt if mapping.players is not None else le
    starts = [0, *(place for place, (last, number) in enumerate(pairwise(numbers), 1) if begins(number, last))]
    yield from (lines[start:end] for start, end in pairwise((*starts, len(lines))))


def _wide(table: SourceTable, mapping: Mapping, lines: list[SourceRow]) -> Recorded:
    _check_rounds(table, mapping, lines)
    seats = [mapping.seats[s] for s in sorted(mapping.seats)]
    return Recorded(
        table.file,
        lines[0],
        tuple(_constant_player(table, lines, seat) for seat in seats),
        tuple(tuple(_move(line, seat) for seat in seats) for line in lines),
        table.unit,
    )


def _long(table: SourceTable, mapping: Mapping, columns: SeatColumns, lines: list[SourceRow]) -> Recorded:
    if mapping.round is None:
        raise StudyError(
            "'players' with one row for each round needs the column of the round", file=table.file, key="round"
        )
    by_round = list(grouped((read_number(table, line, mapping.round), line) for line in lines).values())
    _check_rounds(table, mapping, [group[0] for group in by_round])
    ordered = [_by_seat(table, columns, group) for group in by_round]
    width = len(ordered[0])
    if odd := next((group for group in ordered if len(group) != width), None):
        raise StudyError(
            f"this round has {len(odd)} rows, the first round of the match has {width}",
            file=table.file, key=f"{table.unit} {odd[-1].number}",
        )  # fmt: skip
    players = tuple(_constant_player(table, [group[s] for group in ordered], columns) for s in range(width))
    rounds = tuple(tuple(_move(line, columns) for line in group) for group in ordered)
    return Recorded(table.file, lines[0], players, rounds, table.unit)


def _by_seat(table: SourceTable, columns: SeatColumns, lines: list[SourceRow]) -> list[SourceRow]:
    """Return one round's rows by seat: by the seat column, else in file order."""
    if columns.seat is None:
        return lines
    placed: dict[int, SourceRow] = {}
    for line in lines:
        number = read_number(table, line, columns.seat)
        if number != int(number) or not 1 <= number <= len(lines) or int(number) in placed:
            raise StudyError(
                f"seats of a round are 1 to {len(lines)}, each once", file=table.file,
                key=f"{table.unit} {line.number}, column {columns.seat}", actual=line[columns.seat],
            )  # fmt: skip
        placed[int(number)] = line
    return [placed[s] for s in sorted(placed)]


def _from_texts(table: SourceTable, mapping: Mapping, lines: list[SourceRow]) -> Recorded:
    """Build a match from rows that each hold a player's (or all players') sequence of actions."""
    if mapping.players is not None:
        placed = [(line, mapping.players) for line in _by_seat(table, mapping.players, lines)]
    elif len(lines) > 1:
        raise StudyError("a second row of the same match", file=table.file, key=f"{table.unit} {lines[1].number}")
    else:
        placed = [(lines[0], mapping.seats[s]) for s in sorted(mapping.seats)]
    if any(columns.action is None for _, columns in placed):
        raise StudyError("rows that hold a whole match need 'action'", file=table.file, key="seats")
    cells = [line[str(columns.action)].strip() for line, columns in placed]
    texts = [cell.split(mapping.split) if mapping.split else list(cell) for cell in cells]
    lengths = [len(text) for text in texts]
    if len(set(lengths)) > 1 or not lengths[0]:
        line, columns = placed[lengths.index(min(lengths))]
        raise StudyError(
            f"the players of this match have {join_words(lengths)} actions",
            file=table.file, key=f"{table.unit} {line.number}, column {columns.action}",
        )  # fmt: skip
    last = lengths[0] - 1
    rounds = tuple(
        tuple(
            Move(line, columns, text[t], None, line[columns.total] if columns.total and t == last else None)
            for (line, columns), text in zip(placed, texts, strict=True)
        )
        for t in range(lengths[0])
    )
    return Recorded(
        table.file, placed[0][0], tuple(_player(line, columns) for line, columns in placed), rounds, table.unit
    )


def _check_rounds(table: SourceTable, mapping: Mapping, lines: list[SourceRow]) -> None:
    if mapping.round is None:
        return
    for expected, line in enumerate(lines, mapping.first_round):
        if read_number(table, line, mapping.round) != expected:
            raise StudyError(
                f"round {expected} of the match that begins on {table.unit} {lines[0].number} should stand here",
                file=table.file, key=f"{table.unit} {line.number}, column {mapping.round}",
                actual=line[mapping.round],
            )  # fmt: skip


def _constant_player(table: SourceTable, lines: Sequence[SourceRow], seat: SeatColumns) -> str:
    name = _player(lines[0], seat)
    for line in lines:
        here = _player(line, seat)
        if not here or here != name:
            raise StudyError(
                f"the player changes within a match, from {name!r} to {here!r}" if here else "names no player",
                file=table.file, key=f"{table.unit} {line.number}, column {seat.player}",
            )  # fmt: skip
    return name


def _player(line: SourceRow, seat: SeatColumns) -> str:
    return seat.player.value if isinstance(seat.player, Value) else line[seat.player].strip()


def _move(line: SourceRow, seat: SeatColumns) -> Move:
    cells = (None if column is None else line[column] for column in (seat.action, seat.payoff, seat.total))
    return Move(line, seat, *cells)


def read_number(table: SourceTable, line: SourceRow, column: str) -> float:
    """Return the number in a cell; anything else is refused."""
    number = number_in(line[column])
    if number is None:
        raise StudyError(
            "must be a number", file=table.file, key=f"{table.unit} {line.number}, column {column}", actual=line[column]
        )
    return number


def number_in(text: str) -> float | None:
    """Return a text as a finite number; None if it is none.

    >>> number_in(" 1.0"), number_in("nan"), number_in("1_0")
    (1.0, None, None)
    """
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and "_" not in text else None


Spec = str | dict[str, Any]
TYPING_ERRORS = 2


class MappedGames:
    """The games of a mapping, each built once."""

    def __init__(self, mapping: Mapping, mapping_file: str) -> None:
        self.rule, self.mapping_file = mapping.game, mapping_file
        self._games: dict[str, tuple[str, Spec, Game]] = {}
        self.notes: dict[str, str] = {}
        """Notes on games of a table, by their number there."""

    unit = "line"

    def game_of_row(self, file: str, line: SourceRow) -> tuple[str, Spec, Game]:
        """Return the game of a match: its name in tables, its specification, and the game."""
        rule = self.rule
        if not isinstance(rule, GameByColumn):
            return self._built("", rule)
        value = canonical(line[rule.column])
        where = f"{self.unit} {line.number}, column {rule.column}"
        if value in self._games:
            return self._games[value]
        if rule.is_ is not None:
            if value not in rule.is_:
                raise StudyError(
                    f"{self.mapping_file} does not say which game this is", file=file, key=where,
                    actual=value, allowed=sorted(rule.is_),
                )  # fmt: skip
            return self._built(value, rule.is_[value])
        try:
            return self._from_table(value) if rule.spec is None else self._built(value, rule.spec.replace("{}", value))
        except OstromError as error:
            raise StudyError(str(error), file=file, key=where) from None

    def _built(self, value: str, spec: Spec, label: str = "") -> tuple[str, Spec, Game]:
        if value not in self._games:
            usual = spec if isinstance(spec, str) else str(spec.get("label") or spec.get("name") or "game")
            self._games[value] = (label or usual, spec, build_game(spec, key="game", file=self.mapping_file))
        return self._games[value]

    @cached_property
    def _table(self) -> dict[str, dict[str, str]]:
        assert isinstance(self.rule, GameByColumn) and self.rule.table is not None
        path = Path(self.rule.table)
        beside = Path(self.mapping_file).parent / path
        return {
            canonical(row["game_number"]): row
            for row in read_games(beside if not path.is_absolute() and beside.exists() else path)
        }

    def _from_table(self, value: str) -> tuple[str, Spec, Game]:
        """Return a game from the table; one of the 144 ordinal games is named by its number there."""
        spec = self._listed(value)
        match = recognised(build_game(spec, key="game", file=self.mapping_file), value)
        if match is None:
            self.notes[value] = f"game {value} of the table is none of the 144 ordinal games"
            return self._built(value, spec, f"table:{value}")
        entry, why = match
        if why:
            self.notes[value] = why
        label = f"ordinal_2x2:{entry.number}"
        if spec["payoffs"] == [[list(map(float, cell)) for cell in row] for row in entry.matrix]:
            return self._built(value, label)
        return self._built(
            value,
            {**spec, "params": {"number": entry.number, "row": entry.row, "col": entry.col, "family": entry.family}},
            label,
        )

    def _listed(self, value: str) -> dict[str, Any]:
        """Return a 2x2 game with the payoffs of the table, ties and typing errors included."""
        try:
            a, b, c, d, e, f, g, h = (float(self._table[value][name]) for name in CELLS)
        except KeyError:
            raise GameError(f"the table of games has no game {value}") from None
        except ValueError:
            raise GameError(f"game {value} of the table has a payoff that is no number") from None
        return {
            "name": f"table_game_{value}",
            "actions": ["first", "second"],
            "payoffs": [[[a, b], [c, d]], [[e, f], [g, h]]],
        }


def recognised(game: Game, number: str) -> tuple[OrdinalGame, str] | None:
    """Return which of the 144 ordinal games a 2x2 game is, and a note if its payoffs have ties; None if it is none.

    A game with ties is none of the 144. It counts as the ordinal game with the row's ``number`` if at most
    ``TYPING_ERRORS`` payoffs differ, because the released table has such typing errors.
    """
    entry = classify(game)
    if entry is not None:
        return entry, ""
    if not number.isdigit() or not 1 <= int(number) <= 144:
        return None
    entry = ordinal_game(int(number))
    right = [float(rank) for row in entry.matrix for cell in row for rank in cell]
    wrong = sum(a != b for a, b in zip(right, game.payoffs.ravel().tolist(), strict=True))
    if wrong > TYPING_ERRORS:
        return None
    return entry, (
        f"game {number} of the table has ties: it differs from ordinal game {number} in {wrong} "
        f"cell{'s' if wrong > 1 else ''} and is taken for it, with the payoffs of the table"
    )
