"""How often a verdict on a measure was printed: the more looks, the smaller the p that a YES needs.

A look is a number of finished seeds at which a word was printed. The first has a level of .05, each further one half
of that before, so that the chance of ever saying YES where nothing differs stays near .05 however the run grows.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import orjson

from ostrom.data.rundata import RunData, quoted
from ostrom.ground.files import read_plain, write_whole

FILE = "verdicts.json"
ALPHA = 0.05
NOT_RECORDED = "looks not recorded"


def alpha(look: int) -> float:
    """The level at a look.

    >>> alpha(1), alpha(3)
    (0.05, 0.0125)
    """
    return float(ALPHA / 2 ** (look - 1))


def look_of(data: RunData, measure: str) -> int:
    """Which look at a measure this is, counting it; a run that is not at its end is not looked at."""
    if data.so_far:
        return 1
    (row,) = data.records(
        f"SELECT count(DISTINCT {quoted('seed')}) AS n FROM matches WHERE state = 'done' AND unit = 'match'"
    )
    seeds = int(row["n"])
    path = data.folder / FILE
    record = _read(path)
    before = [n for n in record.get(measure, []) if n != seeds]
    with suppress(OSError):
        if seeds not in record.get(measure, []) and data.folder.is_dir():
            write_whole(path, orjson.dumps({**record, measure: sorted([*before, seeds])}))
    return 1 + sum(n < seeds for n in before)


def recorded(data: RunData, measure: str) -> bool:
    """Whether the look could be written down."""
    return bool(data.so_far) or bool(_read(data.folder / FILE).get(measure))


def _read(path: Path) -> dict[str, list[int]]:
    """The looks by measure; a record that cannot be read counts as none."""
    try:
        rows = orjson.loads(read_plain(path))
        return {str(name): [int(n) for n in of] for name, of in rows.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
