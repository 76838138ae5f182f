"""A foreign table: rows of cells by column name, with their place in the file."""

import codecs
import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostrom.features.importing import mapping as mappings
from ostrom.ground.errors import StudyError
from ostrom.ground.yaml import read_json

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
    """A file as read, with the columns that the mapping uses."""

    file: str
    columns: tuple[str, ...]
    lines: tuple[SourceRow, ...]
    unit: str = "line"
    """What ``SourceRow.number`` counts: lines of the file (the header is line 1), records or samples."""


def read_table(path: Path, mapping: mappings.Mapping, mapping_file: str) -> SourceTable:
    """Read a CSV or JSON file as the mapping says; a row with too many or too few cells is refused."""
    text = decoded(read_bytes(path), str(path), mapping.encoding)
    if not text.strip():
        raise StudyError("is empty", file=str(path))
    needed = mapping.needed()
    start = text.lstrip()[:1]
    if path.suffix.lower() in JSON_ENDINGS or start in ("{", "["):
        columns, records, unit = json_rows(text, str(path), mapping.records)
        lines = _lines(needed, needed, records)
    else:
        if mapping.records is not None:
            raise StudyError("'records' is for JSON files", file=str(path), key="records")
        columns, rows = _csv(str(path), text, mapping, mapping_file)
        places = {column: place for place, column in reversed([*enumerate(columns)])}
        lines = _lines([places.get(column, 0) for column in needed], needed, rows)
        unit = "line"
    if missing := [column for column in needed if column not in columns]:
        raise StudyError(
            f"{mapping_file} names the column {missing[0]!r} under {needed[missing[0]]}, but it is not there",
            file=str(path), allowed=[c or "(no name)" for c in columns][:40],
        )  # fmt: skip
    table = SourceTable(str(path), columns, tuple(lines), unit)
    if not table.lines:
        raise StudyError("has a header and no rows", file=str(path))
    return table


def _lines(indices: Iterable[Any], needed: Iterable[str], rows: Iterable[tuple[int, Any]]) -> Iterator[SourceRow]:
    """Yield rows with the needed columns; equal texts share one object to save memory."""
    places = {name: i for i, name in enumerate(needed)}
    texts: dict[str, str] = {}
    for number, row in rows:
        yield SourceRow(number, tuple([texts.setdefault(row[i], row[i]) for i in indices]), places)


def _csv(
    file: str, text: str, mapping: mappings.Mapping, mapping_file: str
) -> tuple[tuple[str, ...], Iterator[tuple[int, list[str]]]]:
    separator = mapping.separator or max(SEPARATORS, key=text.partition("\n")[0].count)
    if len(separator) != 1:
        raise StudyError("must be one character", file=mapping_file, key="separator", actual=separator)
    cells = _cells(file, text, separator)
    named = mapping.columns
    columns = tuple(named) if named is not None else tuple(c.strip() for c in next(cells)[1])
    twice = next((name for name, times in Counter(columns).items() if name and times > 1), None)
    if twice is not None:
        raise StudyError(f"names the column {twice!r} twice", file=file)

    def full() -> Iterator[tuple[int, list[str]]]:
        for number, row in cells:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(columns):
                raise StudyError(
                    f"has {len(row)} cells, {'the mapping names' if named else 'the header has'} "
                    f"{len(columns)}",
                    file=file, key=f"line {number}",
                )  # fmt: skip
            yield number, row

    return columns, full()


def _cells(file: str, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with the line number on which each begins; a quoted cell may span several lines."""
    reader = csv.reader(_physical(text), delimiter=separator, strict=True)
    begun = 1
    try:
        for row in reader:
            yield begun, row
            begun = reader.line_num + 1
    except csv.Error as error:
        raise StudyError(f"is not a table: {error}", file=file, key=f"line {begun}") from None


def _physical(text: str) -> Iterator[str]:
    """Split text at line ends only; other Unicode line breaks belong to cells."""
    begun = 0
    while begun < len(text):
        end = text.find("\n", begun) + 1 or len(text)
        yield text[begun:end]
        begun = end


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; raise StudyError if it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise StudyError("there is no such file", file=str(path)) from None
    except OSError as error:
        raise StudyError(f"cannot be read: {error.strerror or error}", file=str(path)) from None


def decoded(data: bytes, file: str, encoding: str | None = None) -> str:
    """Decode a foreign file: UTF-8, UTF-16 with a byte order mark, or the encoding that the mapping names.

    Raise StudyError with the line number at the first undecodable byte or NUL character.
    """
    marked = next((name for mark, name in MARKS if data.startswith(mark)), None)
    name = marked or encoding or "utf-8"
    if marked is None and encoding is None and b"\0" in data[:4]:
        raise StudyError(
            "holds a NUL character (UTF-16 without its mark? say encoding: utf-16-le)", file=file, key="line 1"
        )
    try:
        text = data.decode(name)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise StudyError(
            f"is not {name} text; say the encoding in the mapping, for example encoding: latin-1",
            file=file, key=f"line {line}", actual=data[error.start : error.start + 4],
        ) from None  # fmt: skip
    place = text.find("\0")
    if place >= 0:
        raise StudyError("holds a NUL character", file=file, key=f"line {text.count(chr(10), 0, place) + 1}")
    return text


DEEPEST = 40
LONGEST_NAME = 1000
"""The longest column name, in characters: nested JSON joins the names of all levels."""


def json_rows(
    text: str, file: str, path: str | None
) -> tuple[tuple[str, ...], list[tuple[int, defaultdict[str, str]]], str]:
    """Return the columns, the numbered rows, and what the numbers count (lines or records)."""
    content, unit = _documents(text, file)
    try:
        flat = [
            (number, _flat(record, file, f"{unit} {number}")) for number, record in _records(content, file, path, unit)
        ]
    except RecursionError:
        raise StudyError("is nested too deeply", file=file) from None
    if not flat:
        raise StudyError("has no records", file=file)
    return tuple(dict.fromkeys(name for _, row in flat for name in row)), flat, unit


def _documents(text: str, file: str) -> tuple[Any, str]:
    """Return the parsed content (or one document per line) and which of the two it is."""
    try:
        return read_json(text, file, finite=False), "record"
    except StudyError as error:
        if "Extra data" not in str(error) or not _is_document(text.strip().partition("\n")[0].strip()):
            raise
    return [
        (n, read_json(line, file, line=n, finite=False)) for n, line in enumerate(text.split("\n"), 1) if line.strip()
    ], "line"


def _is_document(line: str) -> bool:
    with suppress(ValueError, RecursionError):
        json.loads(line)
        return True
    return False


def _records(content: Any, file: str, path: str | None, unit: str) -> Iterator[tuple[int, Any]]:
    if path is None and unit != "line" and not isinstance(content, list):
        fields = content.items() if isinstance(content, dict) else ()
        lists = [name for name, value in fields if isinstance(value, list)]
        raise StudyError(
            "is no list of records; name the list in the mapping, for example records: "
            + (lists[0] if lists else "results"),
            file=file, key="records", allowed=lists or None,
        )  # fmt: skip
    if path is None:
        yield from content if unit == "line" else enumerate(content, 1)
    elif unit == "line":
        for number, document in content:
            yield from ((number, record) for record in _inside(document, path.split("."), file, {}))
    else:
        yield from enumerate(_inside(content, path.split("."), file, {}), 1)


def _inside(here: Any, steps: list[str], file: str, above: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the records at a path, each with the scalar fields of its ancestors."""
    if isinstance(here, list):
        for item in here:
            yield from _inside(item, steps, file, above)
        return
    if not isinstance(here, dict):
        raise StudyError("must be objects", file=file, key="records", actual=here)
    if not steps:
        yield {**{f"above.{name}" if name in here else name: value for name, value in above.items()}, **here}
        return
    step, *rest = steps
    if step not in here:
        raise StudyError(f"there is no {step!r} here", file=file, key="records", allowed=list(here)[:40])
    plain = {name: value for name, value in here.items() if name != step and not isinstance(value, list)}
    yield from _inside(here[step], rest, file, {**above, **plain})


def _flat(record: Any, file: str, where: str) -> defaultdict[str, str]:
    if not isinstance(record, dict):
        raise StudyError("must be an object", file=file, key=where, actual=record)
    row: defaultdict[str, str] = defaultdict(str)

    def put(name: str, value: Any, depth: int) -> None:
        if depth > DEEPEST:
            raise StudyError("is nested too deeply", file=file, key=where)
        if len(name) > LONGEST_NAME:
            raise StudyError(f"has a column whose name has more than {LONGEST_NAME} characters", file=file, key=where)
        if isinstance(value, dict):
            for key, inner in value.items():
                put(f"{name}.{key}" if name else key, inner, depth + 1)
        elif isinstance(value, list):
            for place, inner in enumerate(value):
                put(f"{name}.{place}", inner, depth + 1)
            if not any(isinstance(inner, dict | list) for inner in value):
                row[name] = json.dumps(value)
        elif name in row:
            raise StudyError(f"has the column {name!r} twice", file=file, key=where)
        else:
            row[name] = _text(value)

    put("", record, 0)
    return row


def _text(value: Any) -> str:
    try:
        return "" if value is None else str(value)
    except ValueError:  # Python refuses to write integers of thousands of digits
        return "a number too large"
