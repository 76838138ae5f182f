"""How fast cooperation falls with memory: the slope over the logarithm of the history length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p

import numpy as np

from ostrom.analysis.statistics import (
    StatisticsError,
    cluster_bootstrap_slope,
    least_squares_slope,
    ols_slope,
)
from ostrom.analysis.summary import draws
from ostrom.replications.memory_curse.episodes import Episode, by_match


@dataclass(frozen=True, slots=True)
class Decay:
    """Change of cooperation per unit of log(1 + history length); doubling a long memory is 0.69 of a unit."""

    slope: float
    low: float | None
    high: float | None
    method: str
    """Where the interval comes from: bootstrap, ols, or none."""
    lengths: tuple[int, ...]
    matches: int
    note: str = ""


def decay(rows: Sequence[Episode]) -> Decay | None:
    """The least-squares slope over matches; None with fewer than two history lengths.

    The interval resamples matches within each length. Where some length has a single match that is
    impossible, and the classical interval of the regression stands in, named as such.
    """
    per_match = by_match(rows)
    length_of = {row.match: row.length for row in rows}
    points = [(length, per_match[m]) for m in per_match if (length := length_of[m]) is not None]
    lengths = sorted({length for length, _ in points})
    if len(lengths) < 2:
        return None
    x = np.array([log1p(length) for length, _ in points])
    y = np.array([value for _, value in points])
    slope = least_squares_slope(x, y)
    counts = [sum(length == one for one, _ in points) for length in lengths]
    bounds: tuple[float, float] | None = None
    method, note = "none", ""
    try:
        if min(counts) >= 2:
            result = cluster_bootstrap_slope(
                x, y, clusters=list(range(len(x))), unit="match", rng=draws(len(x)),
                strata=[length for length, _ in points],
            )  # fmt: skip
            if result.ci is not None:
                bounds, method = (result.ci.low, result.ci.high), "bootstrap"
        elif len(points) >= 3:
            ci = ols_slope(x, y, unit="match").ci
            bounds, method = (ci.low, ci.high), "ols"
        else:
            note = "two matches give a slope but no interval"
    except StatisticsError as error:
        note = str(error)
    low, high = bounds or (None, None)
    return Decay(slope, low, high, method, tuple(lengths), len(points), note)
