"""Tables for spreadsheets, which take a text that begins with certain characters for a formula and run it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def safe(value: Any) -> Any:
    """The value, with an apostrophe before a text that a spreadsheet could take for a formula; numbers stay.

    >>> safe("=1+1"), safe(" @SUM(A1)"), safe("cooperate"), safe(-1.5)
    ("'=1+1", "' @SUM(A1)", 'cooperate', -1.5)
    """
    if isinstance(value, str) and (value.startswith(_FORMULA) or value.lstrip().startswith(_FORMULA)):
        return f"'{value}"
    return value


def safe_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The same for rows, names of columns included."""
    for row in rows:
        yield {safe(name): safe(value) for name, value in row.items()}
