"""Variances of many cells, each known from few matches: every one borrows from the others (Smyth 2004).

The variances of the cells of one table are taken to come from a scaled inverse chi-squared distribution. Its parameters
are estimated from all cells together; each cell then has a mixture of its own variance and the table's.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MOST_FREEDOM = 1e6


class Prior(NamedTuple):
    """What the cells of a table say about the variance of one of them, as if it were from so many values."""

    df: float
    variance: float

    def moderated(self, variance: float, df: float) -> tuple[float, float]:
        """The variance of a cell mixed with the table's, and its degrees of freedom.

        >>> Prior(2.0, 4.0).moderated(1.0, 2.0)
        (2.5, 4.0)
        """
        total = self.df + df
        return (self.df * self.variance + df * variance) / total, total


NONE = Prior(0.0, 0.0)


def prior_of(variances: Sequence[float], freedom: Sequence[float]) -> Prior:
    """The prior of variances above zero with their degrees of freedom; of fewer than three none."""
    from scipy.special import digamma, polygamma

    if len(variances) < 3:
        return NONE
    half = np.asarray(freedom, dtype=np.float64) / 2
    logs = np.log(np.asarray(variances, dtype=np.float64)) - digamma(half) + np.log(half)
    rest = float(logs.var(ddof=1)) - float(polygamma(1, half).mean())
    df = 2 * _trigamma_inverse(rest) if rest > 0 else MOST_FREEDOM
    df = min(df, MOST_FREEDOM)
    return Prior(df, math.exp(float(logs.mean()) + float(digamma(df / 2)) - math.log(df / 2)))


def _trigamma_inverse(value: float) -> float:
    """The number whose trigamma function is this; Newton's method from below, as its reciprocal is convex."""
    from scipy.special import polygamma

    at = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, at))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, at))
        at += step
        if abs(step) <= 1e-10 * at:
            break
    return at
