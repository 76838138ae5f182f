"""What a table says happened, match by match: cells put together, nothing interpreted yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ostrom.errors import StudyError
from ostrom.studies.importing.mapping import Mapping, SeatColumns, Value, canonical
from ostrom.studies.importing.table import Line, Table


@dataclass(frozen=True, slots=True)
class Move:
    """What one seat did in one round, as written; ``line`` and the columns say where."""

    line: int
    columns: SeatColumns
    action: str | None
    payoff: str | None
    total: str | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """One match as written: the moves of every round by seat."""

    file: str
    first: Line
    players: tuple[str, ...]
    rounds: tuple[tuple[Move, ...], ...]

    @property
    def lines(self) -> str:
        """Where it stands, for messages."""
        numbers = [move.line for moves in self.rounds for move in moves] or [self.first.number]
        low, high = min(numbers), max(numbers)
        return f"line {low}" if low == high else f"lines {low}-{high}"


def recorded_matches(table: Table, mapping: Mapping) -> Iterator[Recorded]:
    """Put the rows of a table together to matches, in the order in which they begin."""
    for lines in _groups(table, mapping):
        if mapping.rows == "match":
            yield _from_texts(table, mapping, lines)
        elif mapping.players is None:
            yield _wide(table, mapping, lines)
        else:
            yield _long(table, mapping, mapping.players, lines)


def _groups(table: Table, mapping: Mapping) -> Iterator[list[Line]]:
    rule = mapping.match
    if rule is None:
        yield from ([line] for line in table.lines)
        return
    together: dict[tuple[str, ...], list[Line]] = {}
    for line in table.lines:
        together.setdefault(tuple(canonical(line.cells[c]) for c in rule.by), []).append(line)
    pieces = [piece for lines in together.values() for piece in _pieces(table, rule.new_when, lines, mapping)]
    yield from sorted(pieces, key=lambda piece: piece[0].number)


def _pieces(table: Table, column: str | None, lines: list[Line], mapping: Mapping) -> Iterator[list[Line]]:
    """Cut where the numbers of a column stop growing; in long tables a round has several rows."""
    if column is None:
        yield lines
        return
    piece: list[Line] = []
    last: float | None = None
    for line in lines:
        number = read_number(table.file, line, column)
        anew = last is not None and (number < last if mapping.players is not None else number <= last)
        if anew:
            yield piece
            piece = []
        piece.append(line)
        last = number
    yield piece


def _wide(table: Table, mapping: Mapping, lines: list[Line]) -> Recorded:
    _check_rounds(table, mapping, lines)
    seats = [mapping.seats[s] for s in sorted(mapping.seats)]
    players = tuple(_constant_player(table, lines, seat) for seat in seats)
    rounds = tuple(tuple(_move(line, seat) for seat in seats) for line in lines)
    return Recorded(table.file, lines[0], players, rounds)


def _long(table: Table, mapping: Mapping, columns: SeatColumns, lines: list[Line]) -> Recorded:
    by_round: list[list[Line]] = []
    if mapping.round is None:
        raise StudyError(
            "'players' with one row for each round needs the column of the round",
            file=table.file,
            key="round",
        )
    numbers: list[float] = []
    for line in lines:
        number = read_number(table.file, line, mapping.round)
        if numbers and number in numbers:
            by_round[numbers.index(number)].append(line)
        else:
            numbers.append(number)
            by_round.append([line])
    _check_rounds(table, mapping, [group[0] for group in by_round])
    ordered = [_by_seat(table, columns, group) for group in by_round]
    width = len(ordered[0])
    for group in ordered:
        if len(group) != width:
            raise StudyError(
                f"this round has {len(group)} rows, the first round of the match has {width}",
                file=table.file, key=f"line {group[-1].number}",
            )  # fmt: skip
    players = tuple(_constant_player(table, [group[s] for group in ordered], columns) for s in range(width))
    rounds = tuple(tuple(_move(line, columns) for line in group) for group in ordered)
    return Recorded(table.file, lines[0], players, rounds)


def _by_seat(table: Table, columns: SeatColumns, lines: list[Line]) -> list[Line]:
    """The rows of one round by seat: as a column says, or in the order in which they stand."""
    if columns.seat is None:
        return lines
    placed: dict[int, Line] = {}
    for line in lines:
        number = read_number(table.file, line, columns.seat)
        if number != int(number) or not 1 <= number <= len(lines) or int(number) in placed:
            raise StudyError(
                f"seats of a round are 1 to {len(lines)}, each once", file=table.file,
                key=f"line {line.number}, column {columns.seat}", found=line.cells[columns.seat],
            )  # fmt: skip
        placed[int(number)] = line
    return [placed[s] for s in sorted(placed)]


def _from_texts(table: Table, mapping: Mapping, lines: list[Line]) -> Recorded:
    """A match whose rows hold all actions of a player, or of all players, at once."""
    if mapping.players is not None:
        columns = mapping.players
        placed = [(line, columns) for line in _by_seat(table, columns, lines)]
    else:
        if len(lines) > 1:
            raise StudyError("a second row of the same match", file=table.file, key=f"line {lines[1].number}")
        placed = [(lines[0], mapping.seats[s]) for s in sorted(mapping.seats)]
    texts = []
    for line, columns in placed:
        if columns.action is None:
            raise StudyError("rows that hold a whole match need 'action'", file=table.file, key="seats")
        text = line.cells[columns.action].strip()
        texts.append(text.split(mapping.split) if mapping.split else list(text))
    lengths = [len(text) for text in texts]
    if len(set(lengths)) > 1 or not lengths[0]:
        line, columns = placed[lengths.index(min(lengths))]
        raise StudyError(
            f"the players of this match have {' and '.join(map(str, lengths))} actions",
            file=table.file, key=f"line {line.number}, column {columns.action}",
        )  # fmt: skip
    last = lengths[0] - 1
    rounds = tuple(
        tuple(
            Move(
                line.number,
                columns,
                text[t],
                None,
                line.cells[columns.total] if columns.total and t == last else None,
            )
            for (line, columns), text in zip(placed, texts, strict=True)
        )
        for t in range(lengths[0])
    )
    players = tuple(_player(line, columns) for line, columns in placed)
    return Recorded(table.file, placed[0][0], players, rounds)


def _check_rounds(table: Table, mapping: Mapping, lines: list[Line]) -> None:
    if mapping.round is None:
        return
    for expected, line in enumerate(lines, mapping.first_round):
        number = read_number(table.file, line, mapping.round)
        if number != expected:
            raise StudyError(
                f"round {expected} of the match that begins on line {lines[0].number} should stand here",
                file=table.file, key=f"line {line.number}, column {mapping.round}",
                found=line.cells[mapping.round],
            )  # fmt: skip


def _constant_player(table: Table, lines: Iterable[Line], seat: SeatColumns) -> str:
    name: str | None = None
    for line in lines:
        here = _player(line, seat)
        if not here:
            raise StudyError(
                "names no player", file=table.file, key=f"line {line.number}, column {seat.player}"
            )
        if name is not None and here != name:
            raise StudyError(
                f"the player changes within a match, from {name!r} to {here!r}",
                file=table.file, key=f"line {line.number}, column {seat.player}",
            )  # fmt: skip
        name = here
    assert name is not None
    return name


def _player(line: Line, seat: SeatColumns) -> str:
    return seat.player.value if isinstance(seat.player, Value) else line.cells[seat.player].strip()


def _move(line: Line, seat: SeatColumns) -> Move:
    def cell(column: str | None) -> str | None:
        return None if column is None else line.cells[column]

    return Move(line.number, seat, cell(seat.action), cell(seat.payoff), cell(seat.total))


def read_number(file: str, line: Line, column: str) -> float:
    """A cell that must hold a number."""
    return number_in(file, line.number, column, line.cells[column])


def number_in(file: str, line: int, column: str, text: str) -> float:
    """A text that must be a finite number, or an error that says where it stands."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if number != number or number in (float("inf"), float("-inf")):
        raise StudyError("must be a number", file=file, key=f"line {line}, column {column}", found=text)
    return number
