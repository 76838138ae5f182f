"""Ordinary least squares slope of one outcome on one predictor, with classical or cluster-robust errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ostrom.analysis.statistics.errors import BadSample, Undefined
from ostrom.analysis.statistics.means import t_p_value, t_quantile
from ostrom.analysis.statistics.result import Interval, Result
from ostrom.analysis.statistics.samples import (
    ROUNDING,
    Floats,
    Labels,
    Numbers,
    checked_level,
    checked_unit,
    is_constant,
    label_codes,
    paired_samples,
    without_rounding,
)


@dataclass(frozen=True)
class Slope(Result):
    """A fitted line; `n_clusters` is None when rows were taken as independent."""

    estimate: float
    intercept: float
    se: float
    ci: Interval
    statistic: float
    df: float
    p: float
    r_squared: float
    n: int
    n_clusters: int | None
    unit: str


def ols_slope(
    x: Numbers, y: Numbers, *, unit: str, clusters: Labels | None = None, level: float = 0.95
) -> Slope:
    """Slope of y on x. With clusters: sandwich errors, t on clusters - 1 (Liang & Zeger 1986).

    A perfect fit has no error to estimate and raises `Undefined`, as does a constant x.

    >>> result = ols_slope([0, 1, 2, 3], [1.0, 0.8, 0.5, 0.4], unit="seed")
    >>> round(result.estimate, 2), result.df
    (-0.21, 2.0)
    """
    a, b = paired_samples(x, y, ("x", "y"), at_least=3)
    checked_unit(unit), checked_level(level)
    if is_constant(a):
        raise Undefined(f"slope is undefined: x is constant at {a[0]:g}")
    n, deviation = a.size, a - a.mean()
    sxx = float(deviation @ deviation)
    largest, slope = float(np.abs(b).max()), least_squares_slope(a, b)
    level_of_y, level_of_x = float(b.mean()), float(a.mean())
    intercept = without_rounding(level_of_y - slope * level_of_x, max(largest, abs(slope * level_of_x)))
    residual = b - intercept - slope * a
    total, rest = float(np.sum((b - b.mean()) ** 2)), float(residual @ residual)
    groups: int | None = None
    if clusters is None:
        df, variance, least = float(n - 2), rest / (n - 2) / sxx, 0.0
    else:
        codes, levels = label_codes(clusters, n, "clusters")
        groups = len(levels)
        if groups < 2:
            raise BadSample("cluster-robust errors need at least 2 clusters (found 1)")
        scores = np.bincount(codes, weights=deviation * residual, minlength=groups)
        factor = groups / (groups - 1) * (n - 1) / (n - 2)
        df, variance = float(groups - 1), factor * float(scores @ scores) / sxx**2
        # A score is a sum of products that cancel: below this it is rounding error.
        least = (ROUNDING * float(np.abs(deviation).sum()) * largest / sxx) ** 2
    if rest <= ROUNDING**2 * max(total, float(b @ b)):
        raise Undefined("the error of the slope is undefined: the line fits every point exactly")
    if variance <= least:
        raise Undefined("the error of the slope is undefined: the clusters do not vary around the line")
    se = math.sqrt(variance)
    reach = t_quantile(0.5 + level / 2, df) * se
    return Slope(
        estimate=slope,
        intercept=intercept,
        se=se,
        ci=Interval(slope - reach, slope + reach, level),
        statistic=slope / se,
        df=df,
        p=t_p_value(slope / se, df, "two-sided"),
        r_squared=without_rounding(1 - rest / total, 1.0),
        n=n,
        n_clusters=groups,
        unit=unit,
    )


def least_squares_slope(x: Floats, y: Floats) -> float:
    """The slope alone, zero where it is only rounding error of sums that cancel; x must vary.

    >>> least_squares_slope(np.array([0.0, 1.0, 2.0]), np.array([0.3, 0.7, 0.1 + 0.2]))
    0.0
    """
    deviation = x - x.mean()
    spread = float(deviation @ deviation)
    return without_rounding(
        float(deviation @ y) / spread, float(np.abs(y).max()) / math.sqrt(spread / x.size)
    )
