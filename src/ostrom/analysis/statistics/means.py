"""Tests of means: Welch, Student and paired t.

The interval is always two-sided, whatever the alternative: it describes the estimate, the p-value answers the
question. Samples without any variance have no t; they raise `Undefined`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ostrom.analysis.statistics.errors import Undefined
from ostrom.analysis.statistics.result import Interval, StatisticsResult
from ostrom.analysis.statistics.samples import (
    ROUNDING,
    Floats,
    Numbers,
    checked_level,
    checked_option,
    checked_unit,
    is_constant,
    paired_samples,
    sample,
    without_rounding,
)

Alternative = Literal["two-sided", "greater", "less"]
ALTERNATIVES = ("two-sided", "greater", "less")


@dataclass(frozen=True)
class TTest(StatisticsResult):
    """A t test: the estimate is the mean difference (or the mean minus the value tested against)."""

    test: str
    statistic: float
    df: float
    p: float
    estimate: float
    se: float
    ci: Interval
    n: tuple[int, ...]
    means: tuple[float, ...]
    alternative: str
    unit: str

    def __str__(self) -> str:
        return f"{self.test}: t({self.df:.5g}) = {self.statistic:.3f}, p = {self.p:.3g} (unit: {self.unit})"


def welch_t(
    first: Numbers, second: Numbers, *, unit: str, alternative: Alternative = "two-sided", level: float = 0.95
) -> TTest:
    """Welch's t test of two independent samples (Welch 1947).

    >>> print(welch_t([1, 2, 3, 4], [2, 4, 6, 9], unit="match"))
    welch: t(4.0836) = -1.691, p = 0.165 (unit: match)
    """
    a, b = sample(first, "first sample", at_least=2), sample(second, "second sample", at_least=2)
    _some_variance(a, b)
    share_a, share_b = a.var(ddof=1) / a.size, b.var(ddof=1) / b.size
    df = (share_a + share_b) ** 2 / (share_a**2 / (a.size - 1) + share_b**2 / (b.size - 1))
    return _t_test("welch", (a, b), _mean_difference(a, b), share_a + share_b, df, unit, alternative, level)


def student_t(
    first: Numbers, second: Numbers, *, unit: str, alternative: Alternative = "two-sided", level: float = 0.95
) -> TTest:
    """Student's t test of two independent samples with a pooled variance.

    >>> print(student_t([1, 2, 3, 4], [2, 4, 6, 9], unit="match"))
    student: t(6) = -1.691, p = 0.142 (unit: match)
    """
    a, b = sample(first, "first sample", at_least=2), sample(second, "second sample", at_least=2)
    _some_variance(a, b)
    variance = pooled_variance(a, b) * (1 / a.size + 1 / b.size)
    return _t_test(
        "student", (a, b), _mean_difference(a, b), variance, a.size + b.size - 2, unit, alternative, level
    )


def paired_t(
    first: Numbers, second: Numbers, *, unit: str, alternative: Alternative = "two-sided", level: float = 0.95
) -> TTest:
    """Paired t test: row i of both samples belongs to the same unit.

    >>> print(paired_t([3, 4, 5, 7], [2, 4, 4, 5], unit="scenario"))
    paired: t(3) = 2.449, p = 0.0917 (unit: scenario)
    """
    a, b = paired_samples(first, second, ("first sample", "second sample"), at_least=2)
    # A difference that is rounding only is none: 0.3 - (0.1 + 0.2) must not count as variance.
    scale = float(max(np.abs(a).max(), np.abs(b).max()))
    difference = np.where(np.abs(a - b) <= ROUNDING * scale, 0.0, a - b)
    if float(np.ptp(difference)) <= ROUNDING * scale:
        raise Undefined(f"t is undefined: no variance between the pairs (constant at {difference[0]:g})")
    return _t_test(
        "paired",
        (a, b),
        without_rounding(float(difference.mean()), scale),
        difference.var(ddof=1) / difference.size,
        difference.size - 1,
        unit,
        alternative,
        level,
    )


def _mean_difference(a: Floats, b: Floats) -> float:
    return without_rounding(float(a.mean() - b.mean()), float(max(np.abs(a).max(), np.abs(b).max())))


def pooled_variance(a: Floats, b: Floats) -> float:
    """The common variance of two samples, weighted by their degrees of freedom."""
    return float(((a.size - 1) * a.var(ddof=1) + (b.size - 1) * b.var(ddof=1)) / (a.size + b.size - 2))


def t_p_value(t: float, df: float, alternative: str) -> float:
    """Tail probability of Student's t."""
    from scipy.special import stdtr

    if alternative == "two-sided":
        return float(2 * stdtr(df, -abs(t)))
    return float(stdtr(df, -t) if alternative == "greater" else stdtr(df, t))


def t_quantile(probability: float, df: float) -> float:
    """Quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(df, probability))


def _t_test(
    test: str,
    samples: tuple[Floats, ...],
    estimate: float,
    variance: float,
    df: float,
    unit: str,
    alternative: str,
    level: float,
) -> TTest:
    checked_option("alternative", alternative, ALTERNATIVES)
    se = math.sqrt(variance)
    t = float(estimate) / se
    reach = t_quantile(0.5 + checked_level(level) / 2, df) * se
    return TTest(
        test=test,
        statistic=t,
        df=float(df),
        p=t_p_value(t, df, alternative),
        estimate=float(estimate),
        se=se,
        ci=Interval(float(estimate) - reach, float(estimate) + reach, level),
        n=tuple(int(item.size) for item in samples),
        means=tuple(float(np.mean(item)) for item in samples),
        alternative=alternative,
        unit=checked_unit(unit),
    )


def _some_variance(*samples: Floats) -> None:
    if all(is_constant(item) for item in samples):
        values = ", ".join(f"{item[0]:g}" for item in samples)
        raise Undefined(f"t is undefined: no variance within the samples (constant at {values})")
