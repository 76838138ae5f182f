"""A foreign table: named cells by line, every cell in its place."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ostrom.errors import StudyError
from ostrom.studies.importing.mapping import Mapping

SEPARATORS = ",;\t|"


@dataclass(frozen=True, slots=True)
class Line:
    """One row: the line of the file it stands on (the header is line 1) and its cells by column."""

    number: int
    cells: dict[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """A file as read."""

    file: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]


def read_table(path: Path, mapping: Mapping, mapping_file: str) -> Table:
    """Read a CSV file as the mapping says; a line with too many or too few cells is refused."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            text = stream.read()
    except FileNotFoundError:
        raise StudyError("there is no such file", file=str(path)) from None
    except UnicodeDecodeError:
        raise StudyError("is not a text file in UTF-8", file=str(path)) from None
    except OSError as error:
        raise StudyError(f"cannot be read: {error.strerror}", file=str(path)) from None
    if not text.strip():
        raise StudyError("is empty", file=str(path))
    first = text.splitlines()[0]
    separator = mapping.separator or max(SEPARATORS, key=first.count)
    if len(separator) != 1:
        raise StudyError("must be one character", file=mapping_file, key="separator", found=separator)
    try:
        table = _table(str(path), text, separator, mapping.columns)
    except csv.Error as error:
        raise StudyError(f"is not a table: {error}", file=str(path)) from None
    for column, key in mapping.needed().items():
        if column not in table.columns:
            raise StudyError(
                f"{mapping_file} names the column {column!r} under {key}, but it is not there",
                file=str(path), allowed=[c or "(no name)" for c in table.columns],
            )  # fmt: skip
    if not table.lines:
        raise StudyError("has a header and no rows", file=str(path))
    return table


def _table(file: str, text: str, separator: str, named: list[str] | None) -> Table:
    cells = _cells(text, separator)
    columns = tuple(named) if named is not None else tuple(c.strip() for c in next(cells)[1])
    twice = [c for c in columns if c and columns.count(c) > 1]
    if twice:
        raise StudyError(f"names the column {twice[0]!r} twice", file=file)
    lines = []
    for number, row in cells:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(columns):
            raise StudyError(
                f"has {len(row)} cells, {'the mapping names' if named else 'the header has'} {len(columns)}",
                file=file, key=f"line {number}",
            )  # fmt: skip
        lines.append(Line(number, dict(zip(columns, row, strict=True))))
    return Table(file, columns, tuple(lines))


def _cells(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with the number of the line they begin on; a quoted cell may go over several lines."""
    reader = csv.reader(text.splitlines(keepends=True), delimiter=separator, strict=True)
    begun = 1
    for row in reader:
        yield begun, row
        begun = reader.line_num + 1
