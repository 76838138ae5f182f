"""What an interval has to know of one group of values: its mean, the variance of that mean, and its shape."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ostrom.analysis.statistics.samples import (
    BadSample,
    Floats,
    Numbers,
    label_codes,
    same_length,
    sample,
    without_rounding,
)

ALIKE = 1e-9
"""Values that differ by less than this share of their scale are the same value."""

Bounds = tuple[float | None, float | None]
"""The least and the largest value that a unit can have; None where there is no bound."""


@dataclass(frozen=True, slots=True)
class Group:
    """A weighted sample in figures."""

    count: int
    """How many values (of clusters: how many clusters)."""
    n: float
    """The effective number of values (Kish): the count where all weigh the same."""
    mean: float
    variance: float
    """Of the mean. 0 where all values are alike or there is only one."""
    common: float
    """The most frequent value."""
    other: float
    """The effective number of values that differ from it."""
    piled: float
    """How far the values sit on one value or against a bound: 1 where all are alike, 0 where they vary freely."""
    skewness: float
    low: float | None
    high: float | None
    successes: int | None = None
    """How many values are at the upper bound, where all others are at the lower one: a count."""

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance."""
        return self.n - 1

    @property
    def room(self) -> tuple[float, float]:
        """How far the mean could fall and rise within the bounds."""
        below = math.inf if self.low is None else self.mean - self.low
        return below, math.inf if self.high is None else self.high - self.mean

    @property
    def alike(self) -> bool:
        """Whether nothing is known about the spread: one value, or all the same."""
        return self.variance == 0


def checked_bounds(bounds: Bounds) -> Bounds:
    """Two finite numbers in order, or None on either side."""
    low, high = bounds
    for bound in (low, high):
        if bound is not None and not math.isfinite(bound):
            raise BadSample(f"a bound must be a finite number or None (found {bound!r})")
    if low is not None and high is not None and not low < high:
        raise BadSample(f"the lower bound must be below the upper one (found {low!r} and {high!r})")
    return None if low is None else float(low), None if high is None else float(high)


def group_of(
    values: Numbers,
    *,
    bounds: Bounds = (None, None),
    weights: Numbers | None = None,
    clusters: Iterable[Hashable] | None = None,
    name: str = "values",
) -> Group:
    """Summarise a sample; with ``clusters`` their means, weighted by their size, take the place of the values.

    >>> group_of([0.0, 1.0, 1.0], bounds=(0, 1)).other
    1.0
    """
    data = sample(values, name)
    low, high = checked_bounds(bounds)
    mass = np.ones(data.size) if weights is None else sample(weights, "weights")
    same_length("weights", mass.size, name, data.size)
    if mass.min() <= 0:
        raise BadSample(f"weights must be positive (found {mass.min():g})")
    if clusters is not None:
        data, mass = _clustered(data, mass, clusters)
    scale = _scale(data, low, high)
    _within(data, low, high, scale, name)
    # Sums run over sorted values, so that the order in which matches ended changes no digit.
    order = np.lexsort((mass, data))
    data, mass = data[order], mass[order]
    share = mass / mass.sum()
    squares = float(share @ share)
    mean = without_rounding(float(share @ data), scale)
    if low is not None:
        mean = max(mean, low)
    if high is not None:
        mean = min(mean, high)
    common, most = _most_frequent(data, share, ALIKE * scale)
    n = 1 / squares
    if data.size < 2 or float(data[-1] - data[0]) <= ALIKE * scale:
        return Group(data.size, n, mean, 0.0, common, 0.0, 1.0, 0.0, low, high)
    off = data - mean
    # Equal weights give s^2 / n; unequal ones correct each residual for its own pull on the mean (HC2).
    variance = float(np.sum(share**2 * off**2 / (1 - 2 * share + squares)))
    spread = float(share @ off**2)
    skewness = float(share @ off**3) / spread**1.5
    other = n * (1 - most)
    made = Group(data.size, n, mean, variance, common, other, 0.0, skewness, low, high)
    counted = None if n < data.size * (1 - ALIKE) else _counted(data, low, high, ALIKE * scale)
    return replace(made, piled=_piled(made), successes=counted)


def count_group(successes: int, n: int) -> Group:
    """The same for a count of successes, without writing out zeros and ones."""
    if successes != int(successes) or n != int(n) or not 0 <= successes <= n or n < 1:
        raise BadSample(f"needs whole numbers with 0 <= successes <= n, n >= 1 (found {successes} of {n})")
    p = successes / n
    most = max(successes, n - successes)
    variance = p * (1 - p) / (n - 1) if n > 1 else 0.0
    skewness = (1 - 2 * p) / math.sqrt(p * (1 - p)) if 0 < p < 1 else 0.0
    made = Group(
        int(n), float(n), p, variance, float(successes == most), float(n - most), 1.0, skewness, 0.0, 1.0,
        int(successes),
    )  # fmt: skip
    return replace(made, piled=_piled(made)) if variance else made


def _piled(group: Group) -> float:
    """A pile on one value, by the number of other values; against a bound, by how few values carry the mean."""
    n = group.n
    on_one = (1 / (1 + group.other) - 1 / n) * n / (n - 1)
    carriers = min(group.room) ** 2 / group.variance
    against = (1 / (1 + carriers) - 1 / (1 + n)) * (1 + n) / n
    return max(0.0, on_one, against)


def _counted(data: Floats, low: float | None, high: float | None, tolerance: float) -> int | None:
    """How many values are at the upper bound, if the others are at the lower one."""
    if low is None or high is None:
        return None
    up = int(np.sum(data >= high - tolerance))
    return up if up + int(np.sum(data <= low + tolerance)) == data.size else None


def _clustered(data: Floats, mass: Floats, clusters: Iterable[Hashable]) -> tuple[Floats, Floats]:
    codes, levels = label_codes(clusters, data.size, "clusters")
    order = np.lexsort((mass, data, codes))
    data, mass, codes = data[order], mass[order], codes[order]
    total: Floats = np.bincount(codes, weights=mass, minlength=len(levels)).astype(np.float64)
    means: Floats = np.bincount(codes, weights=mass * data, minlength=len(levels)) / total
    return means, total


def _scale(data: Floats, low: float | None, high: float | None) -> float:
    if low is not None and high is not None:
        return high - low
    return float(np.abs(data).max()) or 1.0


def _within(data: Floats, low: float | None, high: float | None, scale: float, name: str) -> None:
    """A value beyond its bounds means that the bounds are wrong, and so would be the interval."""
    for bound, beyond in ((low, data.min()), (high, data.max())):
        if bound is None:
            continue
        outside = bound - beyond if bound is low else beyond - bound
        if outside > ALIKE * scale:
            raise BadSample(f"{name}: {beyond:g} lies beyond the bound {bound:g}")


def _most_frequent(data: Floats, share: Floats, tolerance: float) -> tuple[float, float]:
    """The most frequent value of sorted data and its share; of equally frequent ones the median one."""
    starts = np.concatenate(([0], np.flatnonzero(np.diff(data) > tolerance) + 1))
    shares: Any = np.add.reduceat(share, starts)
    most = float(shares.max())
    best = np.flatnonzero(shares >= most - ALIKE)
    return float(data[starts[best[(best.size - 1) // 2]]]), most
