"""Published figures of four papers, one row per number, as package data (see README.md beside it)."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

from ostrom.errors import UnknownName

FOLDER = files(__name__)


def reference_names() -> list[str]:
    """The tables that there are.

    >>> reference_names()
    ['coopeval', 'memory_curse', 'memory_curse_regimes', 'personas', 'repeated_games']
    """
    return sorted(p.name.removesuffix(".csv") for p in FOLDER.iterdir() if p.name.endswith(".csv"))


@cache
def reference_rows(name: str) -> tuple[dict[str, str], ...]:
    """The rows of a table as text; what is not known is empty.

    >>> reference_rows("memory_curse")[0]["value"]
    '96.9'
    """
    if name not in reference_names():
        raise UnknownName("reference table", name, reference_names())
    text = FOLDER.joinpath(f"{name}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def number(text: str) -> float | None:
    """A number of a table; None where the cell is empty.

    >>> number("96.9"), number("")
    (96.9, None)
    """
    return float(text) if text else None
