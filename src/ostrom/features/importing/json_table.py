"""Records in JSON as rows of a table: a list of objects, one object a line, or a list somewhere inside.

Nested objects become columns with dots (``player.name``), lists columns with numbers from 0 (``answers.0``).
A path such as ``matches.rounds`` goes into lists on its way; a record then also has the plain fields of the
objects that it stands in (under ``above.id`` where the record has an ``id`` of its own).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ostrom.ground.errors import StudyError
from ostrom.ground.yaml import read_json

DEEPEST = 40
Row = dict[str, str]


def json_rows(
    text: str, file: str, path: str | None
) -> tuple[tuple[str, ...], Iterator[tuple[int, list[str]]], str]:
    """The columns, the rows with their numbers, and what the numbers count."""
    content, unit = _documents(text, file)
    try:
        flat = [
            (number, _flat(record, file, f"{unit} {number}"))
            for number, record in _records(content, file, path, unit)
        ]
    except RecursionError:
        raise StudyError("is nested too deeply", file=file) from None
    if not flat:
        raise StudyError("has no records", file=file)
    columns = tuple(dict.fromkeys(name for _, row in flat for name in row))
    return columns, ((number, [row.get(name, "") for name in columns]) for number, row in flat), unit


def _documents(text: str, file: str) -> tuple[Any, str]:
    """The content of the file, or that of every line where each is a document of its own; and which it is."""
    try:
        return read_json(text, file, finite=False), "record"
    except StudyError as error:
        if "Extra data" not in str(error) or not _is_document(text.strip().partition("\n")[0].strip()):
            raise
    lines = enumerate(text.split("\n"), 1)
    return [(n, read_json(line, file, line=n, finite=False)) for n, line in lines if line.strip()], "line"


def _is_document(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _records(content: Any, file: str, path: str | None, unit: str) -> Iterator[tuple[int, Any]]:
    if unit == "line":
        if path is None:
            yield from content
            return
        for number, document in content:
            yield from ((number, record) for record in _inside(document, path.split("."), file, {}))
        return
    if path is None:
        if not isinstance(content, list):
            held = (
                [name for name, value in content.items() if isinstance(value, list)]
                if isinstance(content, dict)
                else []
            )
            raise StudyError(
                "is no list of records; name the list in the mapping, for example records: "
                + (held[0] if held else "results"),
                file=file, key="records", allowed=held or None,
            )  # fmt: skip
        yield from enumerate(content, 1)
        return
    yield from enumerate(_inside(content, path.split("."), file, {}), 1)


def _inside(here: Any, steps: list[str], file: str, above: Mapping[str, Any]) -> Iterator[Any]:
    """The records at a path, each with the plain fields of what it stands in."""
    if isinstance(here, list):
        for item in here:
            yield from _inside(item, steps, file, above)
        return
    if not isinstance(here, dict):
        raise StudyError("must be objects", file=file, key="records", found=here)
    if not steps:
        clash = {f"above.{name}" if name in here else name: value for name, value in above.items()}
        yield {**clash, **here}
        return
    step, *rest = steps
    if step not in here:
        raise StudyError(f"there is no {step!r} here", file=file, key="records", allowed=list(here)[:40])
    plain = {name: value for name, value in here.items() if name != step and not isinstance(value, list)}
    yield from _inside(here[step], rest, file, {**above, **plain})


def _flat(record: Any, file: str, where: str) -> Row:
    if not isinstance(record, dict):
        raise StudyError("must be an object", file=file, key=where, found=record)
    row: Row = {}

    def put(name: str, value: Any, depth: int) -> None:
        if depth > DEEPEST:
            raise StudyError("is nested too deeply", file=file, key=where)
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
    if value is None:
        return ""
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, str):
        return value
    try:
        return repr(value)
    except ValueError:  # Python refuses to write integers of thousands of digits
        return "a number too large"
