"""Pearson correlation with its interval on Fisher's z scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

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


def correlate(a: Floats, b: Floats) -> float:
    """The correlation of two samples that both vary."""
    for name, item in (("first", a), ("second", b)):
        if is_constant(item):
            raise Undefined(f"correlation is undefined: the {name} sample is constant at {item[0]:g}")
    a, b = a - a.mean(), b - b.mean()
    r = without_rounding(float(a @ b) / math.sqrt(float(a @ a) * float(b @ b)), 1.0)
    return math.copysign(1.0, r) if 1.0 - abs(r) <= ROUNDING else r


def _correlation(kind: str, r: float, n: int, unit: str, level: float) -> Correlation:
    checked_level(level)
    df = n - 2
    if abs(r) == 1.0:
        statistic, p, ci = math.copysign(math.inf, r), 0.0, Interval(r, r, level)
    else:
        statistic = r * math.sqrt(df / (1 - r * r))
        p = t_p_value(statistic, df, "two-sided")
        reach = NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(1.0 / (n - 3))
        ci = Interval(math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach), level)
    return Correlation(kind, r, ci, statistic, float(df), p, n, checked_unit(unit))
