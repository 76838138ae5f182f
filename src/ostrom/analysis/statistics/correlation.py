"""Pearson and Spearman correlation with intervals on Fisher's z scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ostrom.analysis.statistics.errors import Undefined
from ostrom.analysis.statistics.means import t_p_value
from ostrom.analysis.statistics.result import Interval, StatisticsResult
from ostrom.analysis.statistics.samples import (
    ROUNDING,
    Floats,
    Numbers,
    checked_level,
    checked_unit,
    is_constant,
    paired_samples,
    without_rounding,
)


@dataclass(frozen=True)
class Correlation(StatisticsResult):
    """A correlation, its t on n - 2 degrees of freedom, and its interval."""

    kind: str
    estimate: float
    ci: Interval
    statistic: float
    df: float
    p: float
    n: int
    unit: str


def pearson(first: Numbers, second: Numbers, *, unit: str, level: float = 0.95) -> Correlation:
    """Linear correlation; interval by Fisher's z with standard error 1 / sqrt(n - 3). Needs 4 pairs.

    >>> round(pearson([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], unit="cell").estimate, 3)
    0.8
    """
    a, b = paired_samples(first, second, at_least=4)
    return _correlation("pearson", correlate(a, b), a.size, unit, level)


def spearman(first: Numbers, second: Numbers, *, unit: str, level: float = 0.95) -> Correlation:
    """Rank correlation (ties get mean ranks); interval after Bonett & Wright (2000). Needs 4 pairs.

    >>> round(spearman([1, 2, 3, 40], [1, 4, 9, 1000], unit="cell").estimate, 3)
    1.0
    """
    a, b = paired_samples(first, second, at_least=4)
    return _correlation("spearman", correlate(mean_ranks(a), mean_ranks(b)), a.size, unit, level)


def correlate(a: Floats, b: Floats) -> float:
    """The correlation of two samples that both vary."""
    for name, item in (("first", a), ("second", b)):
        if is_constant(item):
            raise Undefined(f"correlation is undefined: the {name} sample is constant at {item[0]:g}")
    a, b = a - a.mean(), b - b.mean()
    r = without_rounding(float(a @ b) / math.sqrt(float(a @ a) * float(b @ b)), 1.0)
    return math.copysign(1.0, r) if 1.0 - abs(r) <= ROUNDING else r


def mean_ranks(values: Floats) -> Floats:
    """Ranks from 1, ties sharing their mean rank; values that differ by rounding only are tied.

    >>> mean_ranks(np.array([0.3, 20.0, 0.1 + 0.2])).tolist()
    [1.5, 3.0, 1.5]
    """
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order]) > ROUNDING * float(np.abs(values).max())
    place = np.concatenate([[0], np.cumsum(steps)])
    counts = np.bincount(place)
    last = np.cumsum(counts)
    ranks: Floats = np.empty(values.size)
    ranks[order] = (last - (counts - 1) / 2)[place]
    return ranks


def _correlation(kind: str, r: float, n: int, unit: str, level: float) -> Correlation:
    checked_level(level)
    df = n - 2
    if abs(r) == 1.0:
        statistic, p, ci = math.copysign(math.inf, r), 0.0, Interval(r, r, level)
    else:
        statistic = r * math.sqrt(df / (1 - r * r))
        p = t_p_value(statistic, df, "two-sided")
        se = math.sqrt((1.0 if kind == "pearson" else 1 + r * r / 2) / (n - 3))
        reach = NormalDist().inv_cdf(0.5 + level / 2) * se
        ci = Interval(math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach), level)
    return Correlation(kind, r, ci, statistic, float(df), p, n, checked_unit(unit))
