"""Compares a user's table of the 144 games with the generated ones, row by row.

Two layouts are read, with commas, semicolons or tabs: the released one (game_number, game_row, game_col, game_name,
game_family, then eight payoffs) and the short one (game_number, row, col, family, then eight payoffs).
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path

from ostrom.games.ordinal import OrdinalGame, Ranks, exchanged, ordinal_game
from ostrom.games.text_file import read_text
from ostrom.ground.errors import StudyError

CELLS = tuple(f"r{row}_c{col}_p{seat}" for row in (1, 2) for col in (1, 2) for seat in (1, 2))
_ROW, _COL, _FAMILY = ("row", "game_row"), ("col", "game_col"), ("family", "game_family")

Row = Mapping[str, object]


def read_table(path: str | PathLike[str]) -> list[dict[str, str]]:
    """Read a table of games from a CSV file with commas, semicolons or tabs."""
    lines = read_text(Path(path), what="table").splitlines()
    if not lines:
        raise StudyError("is empty", file=str(path))
    try:
        return list(_rows(lines, str(path)))
    except csv.Error as error:
        raise StudyError(f"is not a table: {error}", file=str(path)) from None


def _rows(lines: list[str], file: str) -> Iterator[dict[str, str]]:
    separator = max(";,\t", key=lines[0].count)
    header = [cell.strip() for cell in next(csv.reader(lines[:1], delimiter=separator))]
    if missing := [name for name in ("game_number", *CELLS) if name not in header]:
        raise StudyError(f"lacks the columns {', '.join(missing)}", file=file, actual=header)
    if len(set(header)) != len(header):
        raise StudyError("names a column twice", file=file, actual=header)
    for line, written in enumerate(csv.reader(lines[1:], delimiter=separator), 2):
        cells = [cell.strip() for cell in written]
        if any(cells) and len(cells) != len(header):
            raise StudyError(f"line {line} has {len(cells)} cells, the header has {len(header)}", file=file)
        if any(cells):
            yield dict(zip(header, cells, strict=True))


def check_table(table: str | PathLike[str] | Iterable[Row]) -> list[str]:
    """Return every error in a table of the 144 games (a file or its rows); empty if it is right.

    >>> check_table({"game_number": g.number, **dict(zip(CELLS, sum(zip(g.seat1, g.seat2), ())))}
    ...             for g in map(ordinal_game, range(1, 145)))
    []
    """
    problems: list[str] = []
    counts: Counter[int] = Counter()
    for place, row in enumerate(read_table(table) if isinstance(table, (str, PathLike)) else table, 1):
        number = _integer(row.get("game_number"))
        if number is None or not 1 <= number <= 144:
            problems.append(f"row {place}: game_number must be 1 to 144 (found {row.get('game_number')!r})")
            continue
        counts[number] += 1
        if faults := list(_faults(row, ordinal_game(number))):
            problems.append(f"game {number}: {'; '.join(faults)}")
    problems += [f"game {number}: listed {times} times" for number, times in sorted(counts.items()) if times > 1]
    problems += [f"game {number}: missing" for number in range(1, 145) if number not in counts]
    return problems


def _faults(row: Row, game: OrdinalGame) -> Iterator[str]:
    for names, right in ((_ROW, game.row), (_COL, game.col)):
        value = next((row[name] for name in names if name in row), None)
        if value is not None and _integer(value) != right:
            yield f"{names[0]} should be {right} (found {value!r})"
    family = next((row[name] for name in _FAMILY if name in row), None)
    if family is not None and str(family).strip().lower().replace(" ", "-").replace("_", "-") != game.family:
        yield f"family should be {game.family} (found {family!r})"
    row_cells = [_integer(row.get(name)) for name in CELLS]
    right_cells = [rank for pair in zip(game.seat1, game.seat2, strict=True) for rank in pair]
    wrong = [
        f"{name} should be {right} (found {_cell_text(row.get(name))})"
        for name, right, value in zip(CELLS, right_cells, row_cells, strict=True)
        if right != value
    ]
    if wrong:
        yield from wrong + _ties(row_cells) + _same_game(row_cells, game)


def _ties(cells: list[int | None]) -> list[str]:
    return [
        f"tie: player {seat} has rank {rank} in {n} cells"
        for seat in (1, 2)
        for rank, n in sorted(Counter(cell for cell in cells[seat - 1 :: 2] if cell is not None).items())
        if n > 1
    ]


def _same_game(cells: list[int | None], game: OrdinalGame) -> list[str]:
    # If only the order of rows or columns differs, the message says so.
    for rows, cols in ((True, False), (False, True), (True, True)):
        both: tuple[Ranks, Ranks] = exchanged(game.seat1, rows, cols), exchanged(game.seat2, rows, cols)
        if [rank for pair in zip(*both, strict=True) for rank in pair] == cells:
            what = " and ".join(word for word, on in (("rows", rows), ("columns", cols)) if on)
            return [f"this is the same game with {what} exchanged"]
    return []


def _integer(value: object) -> int | None:
    try:
        number = float(str(value).strip())
    except ValueError:
        return None
    return int(number) if number.is_integer() else None


def _cell_text(value: object) -> str:
    return "nothing" if value is None or value == "" else str(value)
