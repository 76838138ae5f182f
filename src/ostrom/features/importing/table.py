"""A foreign table: named cells by row, every cell in its place."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ostrom.features.importing import mapping as mappings
from ostrom.ground.errors import StudyError

MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
SEPARATORS = ",;\t|"
JSON_ENDINGS = (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One row: its number (a line of the file, or a record of a list) and its cells by column."""

    number: int
    values: tuple[str, ...]
    places: Mapping[str, int]

    def __getitem__(self, column: str) -> str:
        return self.values[self.places[column]]


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A file as read: the columns that the mapping speaks of."""

    file: str
    columns: tuple[str, ...]
    lines: tuple[SourceRow, ...]
    unit: str = "line"
    """What ``Line.number`` counts: lines of the file (the header is line 1), or records."""


def read_table(path: Path, mapping: mappings.Mapping, mapping_file: str) -> SourceTable:
    """Read a CSV or JSON file as the mapping says; a row with too many or too few cells is refused."""
    data = read_bytes(path)
    if not data.strip():
        raise StudyError("is empty", file=str(path))
    text = decoded(data, str(path), mapping.encoding)
    start = text.lstrip()[:1]
    if path.suffix.lower() in JSON_ENDINGS or start in ("{", "["):
        from ostrom.features.importing.json_table import json_rows

        columns, rows, unit = json_rows(text, str(path), mapping.records)
    else:
        if mapping.records is not None:
            raise StudyError("'records' is for JSON files", file=str(path), key="records")
        columns, rows = _csv(str(path), text, mapping, mapping_file)
        unit = "line"
    needed = mapping.needed()
    for column, key in needed.items():
        if column not in columns:
            raise StudyError(
                f"{mapping_file} names the column {column!r} under {key}, but it is not there",
                file=str(path), allowed=[c or "(no name)" for c in columns][:40],
            )  # fmt: skip
    lines = tuple(_lines(columns, needed, rows))
    if not lines:
        raise StudyError("has a header and no rows", file=str(path))
    return SourceTable(str(path), columns, lines, unit)


def _lines(
    columns: Sequence[str], needed: Iterable[str], rows: Iterable[tuple[int, Sequence[str]]]
) -> Iterator[SourceRow]:
    """The cells that the mapping needs; equal texts are kept once, since a million rows repeat few of them."""
    kept = [columns.index(name) for name in needed]
    places = {name: i for i, name in enumerate(needed)}
    texts: dict[str, str] = {}
    for number, row in rows:
        yield SourceRow(number, tuple([texts.setdefault(row[i], row[i]) for i in kept]), places)


def _csv(
    file: str, text: str, mapping: mappings.Mapping, mapping_file: str
) -> tuple[tuple[str, ...], Iterator[tuple[int, list[str]]]]:
    separator = mapping.separator or max(SEPARATORS, key=text.partition("\n")[0].count)
    if len(separator) != 1:
        raise StudyError("must be one character", file=mapping_file, key="separator", found=separator)
    cells = _cells(file, text, separator)
    named = mapping.columns
    columns = tuple(named) if named is not None else tuple(c.strip() for c in next(cells)[1])
    twice = [c for c in columns if c and columns.count(c) > 1]
    if twice:
        raise StudyError(f"names the column {twice[0]!r} twice", file=file)

    def full() -> Iterator[tuple[int, list[str]]]:
        for number, row in cells:
            if len(row) != len(columns):
                if not any(cell.strip() for cell in row):
                    continue
                raise StudyError(
                    f"has {len(row)} cells, {'the mapping names' if named else 'the header has'} "
                    f"{len(columns)}",
                    file=file, key=f"line {number}",
                )  # fmt: skip
            if any(cell.strip() for cell in row):
                yield number, row

    return columns, full()


def _cells(file: str, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with the number of the line they begin on; a quoted cell may go over several lines."""
    reader = csv.reader(_physical(text), delimiter=separator, strict=True)
    begun = 1
    try:
        for row in reader:
            yield begun, row
            begun = reader.line_num + 1
    except csv.Error as error:
        raise StudyError(f"is not a table: {error}", file=file, key=f"line {begun}") from None


def _physical(text: str) -> Iterator[str]:
    """Lines as files count them: other breaks of Unicode are text."""
    begun = 0
    while begun < len(text):
        end = text.find("\n", begun)
        end = len(text) if end < 0 else end + 1
        yield text[begun:end]
        begun = end


def read_bytes(path: Path) -> bytes:
    """The content of a file, or one line that says why there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise StudyError("there is no such file", file=str(path)) from None
    except OSError as error:
        raise StudyError(f"cannot be read: {error.strerror or error}", file=str(path)) from None


def decoded(data: bytes, file: str, encoding: str | None = None) -> str:
    """The bytes of a foreign file as text: UTF-8, UTF-16 with its mark, or the encoding that a mapping names.

    There are no NUL bytes in it; the line of the first byte that is no text is named.
    """
    marked = next((name for mark, name in MARKS if data.startswith(mark)), None)
    name = marked or encoding or "utf-8"
    if marked is None and encoding is None and b"\0" in data[:4]:
        raise StudyError(
            "holds a NUL character (UTF-16 without its mark? say encoding: utf-16-le)",
            file=file,
            key="line 1",
        )
    try:
        text = data.decode(name)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise StudyError(
            f"is not {name} text; say the encoding in the mapping, for example encoding: latin-1",
            file=file, key=f"line {line}", found=data[error.start : error.start + 4],
        ) from None  # fmt: skip
    place = text.find("\0")
    if place >= 0:
        raise StudyError("holds a NUL character", file=file, key=f"line {text.count(chr(10), 0, place) + 1}")
    return text
