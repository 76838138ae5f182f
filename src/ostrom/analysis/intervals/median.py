"""The interval of a median: two order statistics, whatever the distribution."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from statistics import median

from ostrom.analysis.intervals.limits import Limits
from ostrom.analysis.statistics.samples import Numbers, checked_level, sample


@dataclass(frozen=True, slots=True)
class Median:
    """A median of independent values."""

    values: tuple[float, ...]
    unit: str = "match"

    @property
    def value(self) -> float:
        """The estimate."""
        return median(self.values)

    def limits(self, level: float = 0.95) -> Limits:
        """The narrowest pair of values, equally far from both ends, that holds the median often enough."""
        checked_level(level)
        n = len(self.values)
        outside, depth = 0.0, 0
        while depth < n // 2:
            outside += 2 * comb(n, depth) / 2**n
            if outside > 1 - level:
                break
            depth += 1
        if depth == 0:
            return Limits(self.value, None, None, "none", f"too few values ({n}) for the median's interval")
        low, high = self.values[depth - 1], self.values[n - depth]
        if low == high:
            return Limits(self.value, None, None, "none", "more than half of the values are alike")
        return Limits(self.value, low, high, "order statistics")


def median_of(values: Numbers, *, unit: str = "match") -> Median:
    """The median of independent values (sign-test interval, Thompson 1936).

    >>> median_of([3, 1, 2, 5, 4, 6]).limits().low
    1.0
    """
    return Median(tuple(sorted(sample(values, "values").tolist())), unit)
