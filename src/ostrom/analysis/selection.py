"""Conditions as people write them: ``game=stag_hunt``, ``k=1,4``, or SQL on the table of matches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ostrom.analysis.measure import Measure, measures
from ostrom.analysis.units import NoSuchLevel, Observations, Runs, Where, observations
from ostrom.ground.errors import UsageError, nearest

EQUAL = re.compile(r"\s*([A-Za-z_][\w.]*)\s*=(?![=~])\s*([^=<>!'\"()]+?)\s*")


def condition(data: Runs, measure: str | Mapping[str, Any] | Measure, texts: Sequence[str]) -> Where:
    """The condition that some texts state together: all ``column=value``, or all SQL.

    A value is a level of the column as tables print it; several are separated by commas.
    """
    written = [text for text in texts if text.strip()]
    if not written:
        return None
    equal = [EQUAL.fullmatch(text) for text in written]
    if not all(equal):
        return " AND ".join(f"({text})" for text in written)
    found = observations(data, measures.named(measure))
    wanted: dict[str, list[Any]] = {}
    for match in equal:
        assert match is not None
        column, text = match.groups()
        if column in wanted:
            raise UsageError(f"where: {column} is given twice; separate its levels by commas")
        wanted[column] = _levels(found, column, text)
    return wanted


def chosen(data: Runs, measure: str | Mapping[str, Any] | Measure, where: str | Mapping[str, Any]) -> Where:
    """The condition that a file states: SQL, or columns with a level or a list of levels."""
    if isinstance(where, str):
        return where.strip() or None
    if not where:
        return None
    found = observations(data, measures.named(measure))
    found.need(where)
    wanted: dict[str, list[Any]] = {}
    for column, given in where.items():
        parts = given if isinstance(given, list | tuple) else [given]
        known = _known(found, column)
        wanted[column] = [_level(known, column, as_text(part)) for part in parts]
    return wanted


def _levels(found: Observations, column: str, text: str) -> list[Any]:
    found.need([column])
    known = _known(found, column)
    if text in known:  # a level may itself contain a comma
        return [known[text]]
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    return [_level(known, column, part) for part in wanted]


def _known(found: Observations, column: str) -> dict[str, Any]:
    """The levels of a column by the text that tables print."""
    return {as_text(value): value for value in dict.fromkeys(row[column] for row in found.rows)}


def _level(known: Mapping[str, Any], column: str, text: str) -> Any:
    if text not in known:
        near = nearest(text, known)
        hint = f", did you mean {near!r}?" if near else ""
        listed = ", ".join(known) if len(known) <= 40 else f"{len(known)} different values"
        raise NoSuchLevel(f"where: {column} has no level {text!r}{hint} (levels: {listed or 'none'})")
    return known[text]


def as_text(value: Any) -> str:
    """A level as tables print it and as people write it."""
    return "none" if value is None else str(value)
