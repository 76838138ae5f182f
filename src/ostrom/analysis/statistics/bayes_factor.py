"""JZS Bayes factors for t tests (Rouder, Speckman, Sun, Morey & Iverson 2009), one- and two-sided.

The effect size has a Cauchy prior of scale r, written as a normal whose variance g is inverse chi-square,
so that one integral over g remains. Given g, the sign of the effect has a Student posterior in closed form,
which gives the one-sided factor (half-Cauchy prior; Morey & Wagenmakers 2014) from the same integral
without a noncentral t density.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ostrom.analysis.statistics.means import ALTERNATIVES, paired_t, student_t
from ostrom.analysis.statistics.result import StatisticsResult
from ostrom.analysis.statistics.samples import BadSample, NotConverged, Numbers, checked_option, checked_unit

MEDIUM = math.sqrt(2) / 2
"""The usual scale of the prior on the effect size."""

Alternative = Literal["two-sided", "greater", "less"]


@dataclass(frozen=True)
class BayesFactor(StatisticsResult):
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
    return jzs_from_t(test.statistic, *test.n, unit=unit, r=r, alternative=alternative)


def jzs_paired(
    first: Numbers, second: Numbers, *, unit: str, r: float = MEDIUM, alternative: Alternative = "two-sided"
) -> BayesFactor:
    """JZS Bayes factor of paired samples."""
    test = paired_t(first, second, unit=unit)
    return jzs_from_t(test.statistic, test.n[0], unit=unit, r=r, alternative=alternative)


def jzs_from_t(
    t: float,
    n1: int,
    n2: int | None = None,
    *,
    unit: str,
    r: float = MEDIUM,
    alternative: Alternative = "two-sided",
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
        bf10=_exp(log_bf),
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
        area, error = quad(
            lambda u: math.exp(log_integrand(u) - peak), low, high, epsabs=0, epsrel=1e-10, limit=200
        )
        if not (math.isfinite(area) and error <= 1e-6 * max(area, 1e-300)):
            raise NotConverged(f"the JZS integral did not converge (t = {t:g}, df = {df:g})")
        total += area
    return peak + math.log(total)


def _exp(log_value: float) -> float:
    return math.exp(log_value) if log_value < 709.0 else math.inf
