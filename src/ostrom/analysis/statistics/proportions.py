"""Intervals for proportions: Wilson's score interval and Newcombe's interval for a difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from ostrom.analysis.statistics.errors import BadSample
from ostrom.analysis.statistics.result import Interval, StatisticsResult
from ostrom.analysis.statistics.samples import checked_level, checked_unit


@dataclass(frozen=True)
class Proportion(StatisticsResult):
    """A share with Wilson's interval; without any trial, estimate and interval are None."""

    estimate: float | None
    ci: Interval | None
    successes: int
    n: int
    unit: str


def wilson(successes: int, n: int, *, unit: str, level: float = 0.95) -> Proportion:
    """A proportion with its score interval (Wilson 1927). No trials: an explicitly undefined result.

    >>> result = wilson(8, 10, unit="match")
    >>> result.estimate, [round(x, 3) for x in result.ci]
    (0.8, [0.49, 0.943])
    >>> wilson(0, 0, unit="match").estimate is None
    True
    """
    k, total = _counts(successes, n)
    checked_unit(unit), checked_level(level)
    if total == 0:
        return Proportion(None, None, 0, 0, unit)
    return Proportion(k / total, wilson_interval(k, total, level), k, total, unit)


def wilson_interval(successes: int, n: int, level: float = 0.95) -> Interval:
    """The score interval alone, for at least one trial."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    p, z2 = successes / n, z * z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    reach = z / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    # At the ends the exact limit is 0 or 1; rounding must not push the estimate out of its own interval.
    low = 0.0 if successes == 0 else max(0.0, centre - reach)
    high = 1.0 if successes == n else min(1.0, centre + reach)
    return Interval(low, high, level)


def _counts(successes: int, n: int) -> tuple[int, int]:
    if successes != int(successes) or n != int(n):
        raise BadSample(f"counts must be whole numbers (found {successes} of {n})")
    if not 0 <= successes <= n:
        raise BadSample(f"successes must lie between 0 and n (found {successes} of {n})")
    return int(successes), int(n)
