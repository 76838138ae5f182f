"""Cooperation along the rounds of a match, with a band over matches.

Long matches are cut into bins of rounds in DuckDB; what comes into Python is one number per match and bin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ostrom.analysis.determinism import Determinism
from ostrom.analysis.intervals import mean_of
from ostrom.data.rundata import RunData, quoted
from ostrom.reports.cells import DONE, levels

MOST_BINS = 30
MOST_NUMBERS = 1_500_000
"""With more numbers than this there are so many matches that a band is thinner than its line."""
ACTS = f"{DONE} AND kind = 'act' AND cooperative IS NOT NULL"


@dataclass(frozen=True)
class RoundCurve:
    """Cooperation of one group along the rounds; NaN where a band is not known."""

    key: Mapping[str, Any]
    matches: int
    start: np.ndarray[Any, Any]
    """The first round of every bin."""
    mean: np.ndarray[Any, Any]
    low: np.ndarray[Any, Any]
    high: np.ndarray[Any, Any]


def last_round(data: RunData) -> int:
    """The longest finished match with cooperative actions, in rounds; 0 if there is none."""
    return int(data.records(f"SELECT coalesce(max(round), 0) AS r FROM decisions WHERE {ACTS}")[0]["r"])


def curves_over_rounds(data: RunData, by: Sequence[str], width: int) -> tuple[list[RoundCurve], bool]:
    """A curve for every combination of columns, in the order of the study, and whether there are bands."""
    data.need("decisions", by)
    keys = "".join(f"{quoted(name)}, " for name in by)
    source = (
        f"SELECT {keys}match, (round - 1) // {width} AS bin, avg(cooperative::INTEGER) AS v "
        f"FROM decisions WHERE {ACTS} GROUP BY {keys}match, bin"
    )
    numbers = data.records(f"SELECT count(*) AS n FROM ({source})")[0]["n"]
    banded = numbers <= MOST_NUMBERS
    groups: dict[tuple[Any, ...], list[tuple[int, int, float]]] = {}
    if banded:
        for row in data.records(f"{source} ORDER BY match, bin"):
            key = tuple(row[name] for name in by)
            groups.setdefault(key, []).append((row["match"], row["bin"], row["v"]))
        exact = Determinism(data.unit)
        made = [_banded(dict(zip(by, key, strict=True)), of, width, exact) for key, of in groups.items()]
    else:
        for row in data.records(
            f"SELECT {keys}bin, avg(v) AS v, count(*) AS n FROM ({source}) GROUP BY {keys}bin ORDER BY bin"
        ):
            key = tuple(row[name] for name in by)
            groups.setdefault(key, []).append((row["n"], row["bin"], row["v"]))
        made = [_plain(dict(zip(by, key, strict=True)), of, width) for key, of in groups.items()]
    order = {name: {v: i for i, v in enumerate(levels(data, name))} for name in by}
    made.sort(key=lambda c: tuple(order[name].get(c.key[name], -1) for name in by))
    return made, banded


def _banded(
    key: Mapping[str, Any], of: list[tuple[int, int, float]], width: int, exact: Determinism
) -> RoundCurve:
    """Mean and band of one group; a match that ended early counts in the bins that it reached."""
    matches = sorted({m for m, _, _ in of})
    bins = sorted({b for _, b, _ in of})
    row, column = {m: i for i, m in enumerate(matches)}, {b: i for i, b in enumerate(bins)}
    values, present = np.zeros((2, len(matches), len(bins)))
    for match, place, value in of:
        values[row[match], column[place]] = value
        present[row[match], column[place]] = 1.0
    mean = values.sum(axis=0) / present.sum(axis=0)
    low = high = np.full(len(bins), np.nan)
    if all(map(exact, matches)):
        low = high = mean
    elif len(matches) > 1:
        found = [
            mean_of(values[present[:, i] > 0, i], bounds=(0.0, 1.0), unit="match").limits()
            for i in range(len(bins))
        ]
        low, high = (
            np.array([np.nan if v is None else v for v in of])
            for of in zip(*((f.low, f.high) for f in found), strict=True)
        )
    return RoundCurve(key, len(matches), np.array(bins) * width + 1, mean, low, high)


def _plain(key: Mapping[str, Any], of: list[tuple[int, int, float]], width: int) -> RoundCurve:
    unknown = np.full(len(of), np.nan)
    starts = np.array([b for _, b, _ in of]) * width + 1
    return RoundCurve(
        key, max(n for n, _, _ in of), starts, np.array([v for _, _, v in of]), unknown, unknown
    )
