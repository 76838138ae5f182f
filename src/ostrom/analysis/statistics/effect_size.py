"""Cohen's d with an exact interval from the noncentral t (Cohen 1988; Steiger & Fouladi 1997)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ostrom.analysis.statistics.errors import NotConverged
from ostrom.analysis.statistics.means import paired_t, student_t
from ostrom.analysis.statistics.result import Interval, StatisticsResult
from ostrom.analysis.statistics.samples import Numbers, checked_level


@dataclass(frozen=True)
class EffectSize(StatisticsResult):
    """A standardised mean difference; `hedges_g` is the same without the small-sample bias (Hedges 1981)."""

    kind: str
    estimate: float
    ci: Interval
    hedges_g: float
    n: tuple[int, ...]
    unit: str


def cohens_d(first: Numbers, second: Numbers, *, unit: str, level: float = 0.95) -> EffectSize:
    """Mean difference of two independent samples over their pooled standard deviation.

    >>> round(cohens_d([1, 2, 3, 4], [2, 4, 6, 9], unit="match").estimate, 3)
    -1.195
    """
    test = student_t(first, second, unit=unit, level=level)
    n1, n2 = test.n
    return _effect("pooled", test.statistic, test.df, n1 * n2 / (n1 + n2), test.n, unit, level)


def cohens_d_paired(first: Numbers, second: Numbers, *, unit: str, level: float = 0.95) -> EffectSize:
    """Mean difference of paired samples over the standard deviation of the differences (d_z).

    >>> round(cohens_d_paired([3, 4, 5, 7], [2, 4, 4, 5], unit="scenario").estimate, 3)
    1.225
    """
    test = paired_t(first, second, unit=unit, level=level)
    return _effect("paired", test.statistic, test.df, test.n[0], test.n, unit, level)


def _effect(
    kind: str, t: float, df: float, effective_n: float, n: tuple[int, ...], unit: str, level: float
) -> EffectSize:
    scale = math.sqrt(effective_n)
    low, high = noncentrality_interval(t, df, checked_level(level))
    bias = math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2) if df > 1 else 0.0
    return EffectSize(kind, t / scale, Interval(low / scale, high / scale, level), bias * t / scale, n, unit)


def noncentrality_interval(t: float, df: float, level: float) -> tuple[float, float]:
    """The noncentrality parameters for which the observed t sits at either tail."""
    from scipy.stats import nct

    if t < 0:  # the distribution is its own mirror image, and SciPy computes that half better
        low, high = noncentrality_interval(-t, df, level)
        return -high, -low
    tail = (1 - level) / 2

    def cdf(noncentrality: float) -> float:
        found = float(nct.cdf(t, df, noncentrality))
        if not math.isnan(found):
            return found
        # SciPy gives up far out in the tails, where the value is 0 or 1 to the last bit.
        away = (t - noncentrality) / math.sqrt(1 + noncentrality**2 / (2 * df))
        if abs(away) < 6:
            raise NotConverged(f"no noncentral t for t = {t:g}, {df:g} degrees of freedom, {noncentrality:g}")
        return float(away > 0)

    return _root(cdf, t, 1 - tail), _root(cdf, t, tail)


def _root(cdf: Callable[[float], float], start: float, target: float) -> float:
    # The distribution function falls as the noncentrality grows, so widen a bracket around t until it holds.
    from scipy.optimize import brentq

    reach = 4.0 + abs(start)
    for _ in range(8):
        if cdf(start - reach) > target > cdf(start + reach):
            return float(brentq(lambda x: cdf(x) - target, start - reach, start + reach, xtol=1e-12))
        reach *= 2
    raise NotConverged(f"no noncentral t interval found for t = {start:g}")
