"""Repeated looks at a contrast: the more often a verdict was printed, the smaller the p-value that a YES needs.

A look is a number of finished seeds at which `report`, `test` or `estimate` compared levels of a factor. The first has
a level of .05, each further one half of that before, so that the chance of ever saying YES where nothing differs stays
near .05 however the run grows.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import orjson

from ostrom.data.rundata import RunData, quoted
from ostrom.ground.files import read_plain, write_atomically

FILE = "verdicts.json"
ALPHA = 0.05
NOT_RECORDED = "looks not recorded"


def alpha(look: int) -> float:
    """The significance level at a look: half of that of the look before.

    >>> alpha(1), alpha(3)
    (0.05, 0.0125)
    """
    return float(ALPHA / 2 ** (look - 1))


def look_at(runs: Sequence[RunData], measure: str, factors: Iterable[str]) -> tuple[int, str]:
    """Count this look at contrasts of a measure; return its number (the largest over factors and runs) and a note.

    A run that is not at its end is not looked at.
    """
    look, recorded, names = 1, True, [f"{measure}, {factor}" for factor in factors]
    for data in (run for run in runs if not run.so_far):
        (row,) = data.records(
            f"SELECT count(DISTINCT {quoted('seed')}) AS n FROM matches WHERE state = 'done' AND unit = 'match'"
        )
        seeds, path = int(row["n"]), data.folder / FILE
        record = _read(path)
        after = dict(record)
        for name in names:
            before = set(record.get(name, ()))
            look = max(look, 1 + sum(n < seeds for n in before))
            after[name] = sorted(before | {seeds})
        with suppress(OSError):
            if after != record and data.folder.is_dir():
                write_atomically(path, orjson.dumps(after))
        recorded &= _read(path) == after
    note = f"look {look}: a YES needs p < {alpha(look):.2g}, or the bounds" if look > 1 else ""
    return look, note if recorded else NOT_RECORDED


def _read(path: Path) -> dict[str, list[int]]:
    """Return the recorded looks by measure and factor; an unreadable record counts as empty."""
    try:
        return {str(name): [int(n) for n in of] for name, of in orjson.loads(read_plain(path)).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
