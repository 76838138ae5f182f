"""Published figures as a replication ships them: a CSV file with one row per number."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

from ostrom.ground.errors import UnknownName
from ostrom.ground.registry import replications


@cache
def published_rows(replication: str, file: str = "reference.csv") -> tuple[dict[str, str], ...]:
    """The rows of a table of a replication as text; what is not known is empty.

    >>> published_rows("memory_curse")[0]["value"]
    '96.9'
    """
    known = replications()
    if replication not in known:
        raise UnknownName("replication", replication, known)
    text = files(known[replication]).joinpath(file).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def number(text: str) -> float | None:
    """A number of a table; None where the cell is empty.

    >>> number("96.9"), number("")
    (96.9, None)
    """
    return float(text) if text else None
