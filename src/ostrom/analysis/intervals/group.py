"""What an interval has to know of one group of values: its mean, the variance of that mean, and its shape."""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace

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
NEAR = 0.02
"""Values between two bounds are the less alike the further apart, up to this share of the range."""
TOGETHER = 0.0225
"""Where the standard deviation of ten values is this share of their range, half of what was not seen counts."""

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
    units: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)
    """The values (of clusters: their means), sorted, for bounds that hold whatever the distribution."""
    shares: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)
    """Their shares in the mean."""

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
    together: float = TOGETHER,
) -> Group:
    """Summarise a sample; with ``clusters`` their means, weighted by their size, take the place of the values.

    ``together`` is the share of the range within which values are nearly alike.

    >>> round(group_of([0.0, 1.0, 1.0], bounds=(0, 1)).other, 9)
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
    for bound in (low, high):  # an average of ones that was rounded is 1
        if bound is not None:
            data = np.where(np.abs(data - bound) <= ALIKE * scale, bound, data)
    # Sums run over sorted values, so that the order in which matches ended changes no digit.
    order = np.lexsort((mass, data))
    data, mass = data[order], mass[order]
    share = mass / mass.sum()
    squares = float(share @ share)
    mean = without_rounding(math.fsum(mass * data) / math.fsum(mass), scale)
    mean = min(
        max(mean, float(data[0])), float(data[-1])
    )  # a mean lies among its values, however it is rounded
    bounded = low is not None and high is not None
    common, most = _most_frequent(data, share, ALIKE * scale, NEAR * scale if bounded else math.inf)
    n = 1 / squares
    made = Group(data.size, n, mean, 0.0, common, 0.0, 1.0, 0.0, low, high, units=data, shares=share)
    if data.size < 2 or float(data[-1] - data[0]) <= ALIKE * scale:
        return made
    off = data - mean
    # Equal weights give s^2 / n; unequal ones correct each residual for its own pull on the mean (HC2).
    variance = float(np.sum(share**2 * off**2 / (1 - 2 * share + squares)))
    spread = float(share @ off**2)
    skewness = float(share @ off**3) / spread**1.5
    made = replace(made, variance=variance, other=n * (1 - most), skewness=skewness)
    counted = None if n < data.size * (1 - ALIKE) else _counted(data, low, high, ALIKE * scale)
    return replace(made, piled=_piled(made, together), successes=counted)


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
        int(successes), np.repeat([0.0, 1.0], [n - successes, successes]), np.full(n, 1 / n),
    )  # fmt: skip
    return replace(made, piled=_piled(made)) if variance else made


def _piled(group: Group, together: float = TOGETHER) -> float:
    """A pile on one value, by the number of other values; against a bound, by how few values carry the mean; or by
    nearness, where all values lie together in a small part of their range."""
    n = group.n
    on_one = (1 / (1 + group.other) - 1 / n) * n / (n - 1)
    carriers = min(group.room) ** 2 / group.variance
    against = (1 / (1 + carriers) - 1 / (1 + n)) * (1 + n) / n
    close = 0.0
    if group.low is not None and group.high is not None:
        # Grows so slowly with n that more values of the same kind never widen the interval.
        least = (together * (group.high - group.low)) ** 2 * (n / 10) ** (1 / 6)
        close = 1 / (1 + (group.variance * n / least) ** 3)
    return max(0.0, on_one, against, close)


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


def _most_frequent(data: Floats, share: Floats, tolerance: float, reach: float) -> tuple[float, float]:
    """The most frequent value of sorted data and its share; of equally frequent ones the median one.

    A value counts fully for those that are the same and less for others, down to nothing at a distance of ``reach``.
    """
    mass, moment = (np.concatenate([[0.0], np.cumsum(of)]) for of in (share, share * data))
    here, window = np.arange(data.size), reach if math.isfinite(reach) else tolerance
    left, right = np.searchsorted(data, data - window), np.searchsorted(data, data + window, "right")
    below = data * (mass[here] - mass[left]) - (moment[here] - moment[left])
    above = moment[right] - moment[here] - data * (mass[right] - mass[here])
    shares = mass[right] - mass[left] - (below + above) / reach
    most = float(shares.max())
    best = np.flatnonzero(shares >= most - ALIKE)
    return float(data[best[(best.size - 1) // 2]]), min(1.0, most)
