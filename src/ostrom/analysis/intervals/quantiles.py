"""Quantiles that intervals need, without SciPy: a run prints its first answer with the core packages alone."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

TINY = 1e-300


@lru_cache(maxsize=4096)
def t_quantile(probability: float, df: float) -> float:
    """The quantile of Student's t with any positive number of degrees of freedom.

    >>> round(t_quantile(0.975, 9), 4), round(t_quantile(0.975, 2.5), 4), round(t_quantile(0.025, 9), 4)
    (2.2622, 3.5747, -2.2622)
    """
    if probability == 0.5:
        return 0.0
    if probability < 0.5:
        return -t_quantile(1 - probability, df)
    if df > 1e7:
        return NormalDist().inv_cdf(probability)
    tail = 2 * (1 - probability)
    # P(|T| > t) = I_x(df/2, 1/2) with x = df / (df + t^2). Newton's steps on ln x, kept between two bounds.
    constant = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.lgamma(0.5)
    low, high = -745.0, 0.0
    at = max(-700.0, _start(probability, df))
    for _ in range(200):
        x = math.exp(at)
        off = _incomplete_beta(df / 2, 0.5, x) - tail
        low, high = (at, high) if off < 0 else (low, at)
        density = math.exp(constant + df / 2 * at - 0.5 * math.log(max(-math.expm1(at), TINY)))
        step = off / density if density > 0 else math.inf
        nearer = at - step if low < at - step < high else (low + high) / 2
        near_enough = abs(nearer - at) <= 1e-8 * max(1e-3, abs(at))
        at = nearer
        if near_enough:  # the steps square their error, so this one was exact
            break
    return math.sqrt(df * math.expm1(-at))


def _start(probability: float, df: float) -> float:
    """About ln x at the quantile: the expansion around the normal one, or the tail of few degrees of freedom."""
    if df < 2:
        constant = math.lgamma((df + 1) / 2) - math.lgamma(df / 2 + 1) - math.lgamma(0.5)
        return min(-1e-9, (math.log(2 * (1 - probability)) - constant) * 2 / df)
    z = NormalDist().inv_cdf(probability)
    t = z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df * df)
    return -math.log1p(t * t / df)


def gamma_quantile(probability: float, shape: float) -> float:
    """About the quantile of a gamma variable of this shape (Wilson & Hilferty 1931); 0 where that is negative.

    >>> round(gamma_quantile(0.05, 3), 2)
    0.81
    """
    z = NormalDist().inv_cdf(probability)
    return float(shape * max(0.0, 1 - 1 / (9 * shape) + z / (3 * math.sqrt(shape))) ** 3)


@lru_cache(maxsize=4096)
def exact_share(successes: int, n: int, level: float) -> tuple[float, float]:
    """The limits of a share whose tails are what they say (Clopper & Pearson 1934).

    >>> [round(end, 4) for end in exact_share(8, 10, 0.95)], exact_share(0, 4, 0.95)[0]
    ([0.4439, 0.9748], 0.0)
    """
    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else _beta_quantile(tail, successes, n - successes + 1)
    high = 1.0 if successes == n else 1 - _beta_quantile(tail, n - successes, successes + 1)
    return low, high


def _beta_quantile(probability: float, a: float, b: float) -> float:
    if b == 1:
        return float(probability ** (1 / a))
    low, high = 0.0, 1.0
    while high - low > 1e-13:
        middle = (low + high) / 2
        low, high = (middle, high) if _incomplete_beta(a, b, middle) < probability else (low, middle)
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function by its continued fraction (Lentz's method)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    # Where it is asked for, x is so small that no divisor comes near zero.
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    h = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1.0 / (1.0 + even * d), 1.0 + even / c
        h *= d * c
        d, c = 1.0 / (1.0 + odd * d), 1.0 + odd / c
        h *= d * c
        if abs(d * c - 1.0) < 1e-14:
            break
    return h
