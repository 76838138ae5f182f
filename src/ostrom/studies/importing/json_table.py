"""Records in JSON as rows of a table: a list of objects, one object a line, or a list somewhere inside.

Nested objects become columns with dots (``player.name``), lists columns with numbers from 0 (``answers.0``).
A path such as ``matches.rounds`` goes into lists on its way; a record then also has the plain fields of the
objects that it stands in (under ``above.id`` where the record has an ``id`` of its own).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ostrom.errors import StudyError

DEEPEST = 40
Row = dict[str, str]


def json_rows(
    text: str, file: str, path: str | None
) -> tuple[tuple[str, ...], Iterator[tuple[int, list[str]]], str]:
    """The columns, the rows with their numbers, and what the numbers count."""
    try:
        content, unit = _parsed(text, file), "record"
    except _SeveralDocuments:
        content, unit = _by_line(text, file), "line"
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


class _SeveralDocuments(Exception):
    """The text is no single JSON document."""


def _parsed(text: str, file: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique(file, None))
    except json.JSONDecodeError as error:
        first = text.strip().partition("\n")[0].strip()
        if error.msg == "Extra data" and _is_document(first):
            raise _SeveralDocuments from None
        raise StudyError(f"is not JSON: {error.msg}", file=file, key=f"line {error.lineno}") from None
    except ValueError as error:
        raise StudyError(f"is not JSON: {error}", file=file) from None
    except RecursionError:
        raise StudyError("is nested too deeply", file=file) from None


def _is_document(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _by_line(text: str, file: str) -> list[tuple[int, Any]]:
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found.append((number, json.loads(line, object_pairs_hook=_unique(file, number))))
        except json.JSONDecodeError as error:
            raise StudyError(f"is not JSON: {error.msg}", file=file, key=f"line {number}") from None
        except ValueError as error:
            raise StudyError(f"is not JSON: {error}", file=file, key=f"line {number}") from None
        except RecursionError:
            raise StudyError("is nested too deeply", file=file, key=f"line {number}") from None
    return found


def _unique(file: str, line: int | None) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            where = "" if line is None else f"line {line}: "
            raise StudyError("the key stands twice in one object", file=file, key=f"{where}{twice}")
        return content

    return unique


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
