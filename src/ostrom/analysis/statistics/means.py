"""Tests of means (Welch, Student and paired t), effect sizes, correlation and Bayes factors.

Samples without any variance have no t; they raise `Undefined`. The t tests give the numbers of `scipy.stats` (tests
compare them) in a twelfth of its time; only its distribution functions are used here.

Cohen's d has an exact interval from the noncentral t (Cohen 1988; Steiger & Fouladi 1997), a Pearson correlation one
on Fisher's z scale.

JZS Bayes factors (Rouder, Speckman, Sun, Morey & Iverson 2009) are one- and two-sided. The effect size has a Cauchy
prior of scale r, written as a normal whose variance g is inverse chi-square, so that one integral over g remains.
Given g, the sign of the effect has a Student posterior in closed form, which gives the one-sided factor (half-Cauchy
prior; Morey & Wagenmakers 2014) from the same integral without a noncentral t density.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

import numpy as np

from ostrom.analysis.statistics.result import StatisticalTest
from ostrom.analysis.statistics.samples import (
    ROUNDING,
    BadSample,
    Floats,
    NotConverged,
    Numbers,
    Undefined,
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


def welch_t(first: Numbers, second: Numbers, *, unit: str, level: float = 0.95) -> StatisticalTest:
    """Welch's t test of two independent samples (Welch 1947).

    >>> test = welch_t([1, 2, 3, 4], [2, 4, 6, 9], unit="match")
    >>> print(test)
    -2.75 [-7.23, 1.73], n = 8 matches
    >>> round(test.statistic, 3), round(test.df, 4), round(test.p, 3)
    (-1.691, 4.0836, 0.165)
    """
    a, b = sample(first, "first sample", at_least=2), sample(second, "second sample", at_least=2)
    _some_variance(a, b)
    share_a, share_b = a.var(ddof=1) / a.size, b.var(ddof=1) / b.size
    df = (share_a + share_b) ** 2 / (share_a**2 / (a.size - 1) + share_b**2 / (b.size - 1))
    return _t_test("welch", (a.size, b.size), _mean_difference(a, b), share_a + share_b, df, unit, level)


def student_t(first: Numbers, second: Numbers, *, unit: str, level: float = 0.95) -> StatisticalTest:
    """Student's t test of two independent samples with a pooled variance.

    >>> round(student_t([1, 2, 3, 4], [2, 4, 6, 9], unit="match").p, 3)
    0.142
    """
    a, b = sample(first, "first sample", at_least=2), sample(second, "second sample", at_least=2)
    _some_variance(a, b)
    return _t_test(
        "student",
        (a.size, b.size),
        _mean_difference(a, b),
        pooled_variance(a, b) * (1 / a.size + 1 / b.size),
        a.size + b.size - 2,
        unit,
        level,
    )


def paired_t(first: Numbers, second: Numbers, *, unit: str, level: float = 0.95) -> StatisticalTest:
    """Paired t test: row i of both samples belongs to the same unit.

    >>> print(paired_t([3, 4, 5, 7], [2, 4, 4, 5], unit="scenario"))
    1.00 [-0.30, 2.30], n = 4 scenarios
    """
    a, b = paired_samples(first, second, ("first sample", "second sample"), at_least=2)
    # A difference that is rounding alone is zero: 0.3 - (0.1 + 0.2) must not count as variance.
    scale = float(max(np.abs(a).max(), np.abs(b).max()))
    difference = np.where(np.abs(a - b) <= ROUNDING * scale, 0.0, a - b)
    if float(np.ptp(difference)) <= ROUNDING * scale:
        raise Undefined(f"t is undefined: no variance between the pairs (constant at {difference[0]:g})")
    return _t_test(
        "paired",
        (a.size,),
        without_rounding(float(difference.mean()), scale),
        difference.var(ddof=1) / difference.size,
        difference.size - 1,
        unit,
        level,
    )


def _mean_difference(a: Floats, b: Floats) -> float:
    return without_rounding(float(a.mean() - b.mean()), float(max(np.abs(a).max(), np.abs(b).max())))


def pooled_variance(a: Floats, b: Floats) -> float:
    """The common variance of two samples, weighted by their degrees of freedom."""
    return float(((a.size - 1) * a.var(ddof=1) + (b.size - 1) * b.var(ddof=1)) / (a.size + b.size - 2))


def t_p_value(t: float, df: float) -> float:
    """Tail probability of Student's t on both sides."""
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))


def t_quantile(probability: float, df: float) -> float:
    """Quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(df, probability))


def _t_test(
    test: str, sizes: tuple[int, ...], estimate: float, variance: float, df: float, unit: str, level: float
) -> StatisticalTest:
    se = math.sqrt(variance)
    t = float(estimate) / se
    reach = t_quantile(0.5 + checked_level(level) / 2, df) * se
    return StatisticalTest(
        {}, float(estimate), float(estimate) - reach, float(estimate) + reach, sum(sizes), checked_unit(unit), test,
        level=level, se=se, statistic=t, df=float(df), p=t_p_value(t, df), sizes=sizes,
    )  # fmt: skip


def _some_variance(*samples: Floats) -> None:
    if all(is_constant(item) for item in samples):
        values = ", ".join(f"{item[0]:g}" for item in samples)
        raise Undefined(f"t is undefined: no variance within the samples (constant at {values})")


def cohens_d(first: Numbers, second: Numbers, *, unit: str, level: float = 0.95) -> StatisticalTest:
    """Mean difference of two independent samples over their pooled standard deviation.

    >>> round(cohens_d([1, 2, 3, 4], [2, 4, 6, 9], unit="match").value, 3)
    -1.195
    """
    test = student_t(first, second, unit=unit, level=level)
    return _effect("pooled", test, test.sizes[0] * test.sizes[1] / test.n, level)


def cohens_d_paired(first: Numbers, second: Numbers, *, unit: str, level: float = 0.95) -> StatisticalTest:
    """Mean difference of paired samples over the standard deviation of the differences (d_z).

    >>> round(cohens_d_paired([3, 4, 5, 7], [2, 4, 4, 5], unit="scenario").value, 3)
    1.225
    """
    test = paired_t(first, second, unit=unit, level=level)
    return _effect("paired", test, test.n, level)


def _effect(kind: str, test: StatisticalTest, effective_n: float, level: float) -> StatisticalTest:
    """The effect size that follows from a t test, with an interval from the noncentral t."""
    t, df, scale = test.statistic, test.df, math.sqrt(effective_n)
    low, high = (end / scale for end in noncentrality_interval(t, df, level))
    return replace(test, value=t / scale, low=low, high=high, method=f"Cohen's d, {kind}", se=None)


def noncentrality_interval(t: float, df: float, level: float) -> tuple[float, float]:
    """The noncentrality parameters for which the observed t sits at either tail."""
    from scipy.stats import nct

    if t < 0:  # the distribution is symmetric, and SciPy computes that half better
        low, high = noncentrality_interval(-t, df, level)
        return -high, -low
    tail = (1 - level) / 2

    def cdf(noncentrality: float) -> float:
        chance = float(nct.cdf(t, df, noncentrality))
        if not math.isnan(chance):
            return chance
        # SciPy fails far out in the tails, where the value is 0 or 1 to the last bit.
        away = (t - noncentrality) / math.sqrt(1 + noncentrality**2 / (2 * df))
        if abs(away) < 6:
            raise NotConverged(f"no noncentral t for t = {t:g}, {df:g} degrees of freedom, {noncentrality:g}")
        return float(away > 0)

    return _root(cdf, t, 1 - tail), _root(cdf, t, tail)


def _root(cdf: Callable[[float], float], start: float, target: float) -> float:
    # The distribution function falls in the noncentrality, so a bracket around t is widened until it holds.
    from scipy.optimize import brentq

    reach = 4.0 + abs(start)
    for _ in range(8):
        if cdf(start - reach) > target > cdf(start + reach):
            return float(brentq(lambda x: cdf(x) - target, start - reach, start + reach, xtol=1e-12))
        reach *= 2
    raise NotConverged(f"no noncentral t interval found for t = {start:g}")


def pearson(first: Numbers, second: Numbers, *, unit: str, level: float = 0.95) -> StatisticalTest:
    """Linear correlation; interval by Fisher's z with standard error 1 / sqrt(n - 3). Needs 4 pairs.

    >>> round(pearson([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], unit="cell").value, 3)
    0.8
    """
    a, b = paired_samples(first, second, at_least=4)
    checked_level(level)
    r, n, df = correlate(a, b), a.size, a.size - 2
    if abs(r) == 1.0:
        statistic, p, low, high = math.copysign(math.inf, r), 0.0, r, r
    else:
        statistic = r * math.sqrt(df / (1 - r * r))
        p = t_p_value(statistic, df)
        reach = NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(1.0 / (n - 3))
        low, high = math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)
    return StatisticalTest(
        {}, r, low, high, n, checked_unit(unit), "pearson", level=level, statistic=statistic, df=float(df), p=p,
        sizes=(n,),
    )  # fmt: skip


def correlate(a: Floats, b: Floats) -> float:
    """The correlation of two samples that both vary."""
    for name, item in (("first", a), ("second", b)):
        if is_constant(item):
            raise Undefined(f"correlation is undefined: the {name} sample is constant at {item[0]:g}")
    a, b = a - a.mean(), b - b.mean()
    r = without_rounding(float(a @ b) / math.sqrt(float(a @ a) * float(b @ b)), 1.0)
    return math.copysign(1.0, r) if 1.0 - abs(r) <= ROUNDING else r


MEDIUM = math.sqrt(2) / 2
"""The usual scale of the prior on the effect size."""


@dataclass(frozen=True)
class BayesFactor:
    """Evidence for an effect over none; `bf10` is infinite above 1e308, `log_bf10` never is."""

    design: str
    bf10: float
    log_bf10: float
    t: float
    df: float
    n: tuple[int, ...]
    r: float
    alternative: str
    unit: str


def jzs_two_sample(
    first: Numbers, second: Numbers, *, unit: str, r: float = MEDIUM, alternative: Alternative = "two-sided"
) -> BayesFactor:
    """JZS Bayes factor of two independent samples, from the pooled t.

    >>> round(jzs_two_sample([1, 2, 3, 4], [2, 4, 6, 9], unit="match").bf10, 2)
    1.08
    """
    test = student_t(first, second, unit=unit)
    return jzs_from_t(test.statistic, *test.sizes, unit=unit, r=r, alternative=alternative)


def jzs_paired(
    first: Numbers, second: Numbers, *, unit: str, r: float = MEDIUM, alternative: Alternative = "two-sided"
) -> BayesFactor:
    """JZS Bayes factor of paired samples."""
    test = paired_t(first, second, unit=unit)
    return jzs_from_t(test.statistic, test.n, unit=unit, r=r, alternative=alternative)


def jzs_from_t(
    t: float, n1: int, n2: int | None = None, *, unit: str, r: float = MEDIUM, alternative: Alternative = "two-sided"
) -> BayesFactor:
    """JZS Bayes factor from a t value and sample sizes: one size for one-sample and paired, else two.

    >>> round(jzs_from_t(2.8, 99, 792, unit="round").bf10, 2)
    5.04
    """
    checked_option("alternative", alternative, ALTERNATIVES)
    if not math.isfinite(t):
        raise BadSample(f"t must be finite (found {t})")
    if not (r > 0 and math.isfinite(r)):
        raise BadSample(f"r, the prior scale, must be positive (found {r})")
    if n1 < (2 if n2 is None else 1) or (n2 is not None and (n2 < 1 or n1 + n2 < 3)):
        raise BadSample(f"too few units for a Bayes factor (found n = {n1 if n2 is None else (n1, n2)})")
    df = n1 - 1 if n2 is None else n1 + n2 - 2
    effective_n = n1 if n2 is None else n1 * n2 / (n1 + n2)
    log_bf = _log_factor(t, df, effective_n * r * r, alternative)
    return BayesFactor(
        design="one-sample or paired" if n2 is None else "two-sample",
        bf10=math.exp(log_bf) if log_bf < 709.0 else math.inf,
        log_bf10=log_bf,
        t=float(t),
        df=float(df),
        n=(n1,) if n2 is None else (n1, n2),
        r=float(r),
        alternative=alternative,
        unit=checked_unit(unit),
    )


def _log_factor(t: float, df: float, scale: float, alternative: str) -> float:
    """Log of the integral over u = log g of the marginal likelihood ratio times the prior density of g."""
    from scipy.integrate import quad
    from scipy.special import log_ndtr, stdtr

    sided = {"two-sided": 0.0, "greater": 1.0, "less": -1.0}[alternative]
    null = 0.5 * (df + 1) * math.log1p(t * t / df)

    def log_integrand(u: float) -> float:
        g = math.exp(u)
        spread = 1.0 + scale * g
        value = (
            null
            - 0.5 * math.log(spread)
            - 0.5 * (df + 1) * math.log1p(t * t / (spread * df))
            - 0.5 * math.log(2 * math.pi)
            - 0.5 * u
            - 0.5 / g
        )
        if not sided:
            return value
        argument = sided * t * math.sqrt(scale * g / spread * (df + 1) / (df + t * t / spread))
        probability = float(stdtr(df + 1, argument))
        # Far in the tail of a large sample the Student probability underflows; there the normal one is its
        # limit.
        log_probability = math.log(probability) if probability > 0 else float(log_ndtr(argument))
        return value + math.log(2) + log_probability

    grid = [-7.5 + 0.05 * step for step in range(1800)]
    heights = [log_integrand(u) for u in grid]
    peak = max(heights)
    inside = [u for u, height in zip(grid, heights, strict=True) if height > peak - 40]
    mode = grid[heights.index(peak)]
    total = 0.0
    for low, high in ((inside[0] - 0.05, mode), (mode, inside[-1] + 0.05)):
        if high <= low:
            continue
        area, error = quad(lambda u: math.exp(log_integrand(u) - peak), low, high, epsabs=0, epsrel=1e-10, limit=200)
        if not (math.isfinite(area) and error <= 1e-6 * max(area, 1e-300)):
            raise NotConverged(f"the JZS integral did not converge (t = {t:g}, df = {df:g})")
        total += area
    return peak + math.log(total)
