"""Shares of a declared 0/1 measure: Wilson's interval, Newcombe's for a difference, McNemar's exact test for pairs.

A count is (successes, units); pairs are (discordant pairs for the first side, all pairs, discordant ones in all).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Count = tuple[float, ...]


def wilson(successes: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's score interval (Wilson 1927).

    >>> [round(end, 4) for end in wilson(8, 10, 0.95)]
    [0.4902, 0.9433]
    """
    from scipy.special import ndtri

    z = float(ndtri(0.5 + level / 2))
    p, square = successes / n, z * z / n
    half = z * math.sqrt((p * (1 - p) + square / 4) / n) / (1 + square)
    centre = (p + square / 2) / (1 + square)
    return (0.0 if successes == 0 else centre - half), (1.0 if successes == n else centre + half)


def limits(counts: Sequence[Count], level: float, times: float = 1.0) -> tuple[float, float]:
    """The interval of a share, of a difference of shares (Newcombe 1998, method 10), or of pairs."""
    if len(counts[0]) == 3:
        more, n, odd = (times * part for part in counts[0])
        if odd == 0:  # the upper limit of a share of n that did not occur
            return -wilson(0, n, level)[1], wilson(0, n, level)[1]
        low, high = _exact(more, odd, level)
        return (2 * low - 1) * odd / n, (2 * high - 1) * odd / n
    ends = [wilson(times * k, times * n, level) for k, n in counts]
    if len(counts) == 1:
        return ends[0]
    (p, q), (one, two) = (k / n for k, n in counts), ends
    down, up = math.hypot(p - one[0], two[1] - q), math.hypot(one[1] - p, q - two[0])
    return p - q - down, p - q + up


def _exact(successes: float, n: float, level: float) -> tuple[float, float]:
    """Clopper & Pearson's limits, which invert the exact binomial test."""
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
    return low, 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1 - tail))


def p_value(counts: Sequence[Count], threshold: float = 0.0) -> float:
    """Return the smallest error level at which the interval excludes the threshold."""

    def outside(level: float) -> bool:
        low, high = limits(counts, level)
        return threshold < low - 1e-12 or threshold > high + 1e-12

    low, high = 0.0, 1.0  # bisection of p: outside at 1 - high, inside at 1 - low
    for _ in range(60 if outside(1e-9) else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if outside(1 - middle) else (middle, high)
    return high
