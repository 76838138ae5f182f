"""Moderated variances: cells with few matches share information about the variance (Smyth 2004).

The variances of the cells of one table are taken to come from a scaled inverse chi-squared distribution. Its parameters
are estimated from all cells together; each cell then has a mixture of its own variance and the table's.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ostrom.analysis.intervals.inference import Inference
from ostrom.analysis.statistics.means import t_quantile

MOST_FREEDOM = 1e6


class Prior(NamedTuple):
    """The prior of a cell's variance from the other cells of the table, worth ``df`` values."""

    df: float
    variance: float

    def moderated(self, variance: float, df: float) -> tuple[float, float]:
        """Return the moderated variance of a cell and its degrees of freedom.

        >>> Prior(2.0, 4.0).moderated(1.0, 2.0)
        (2.5, 4.0)
        """
        total = self.df + df
        return (self.df * self.variance + df * variance) / total, total


NONE = Prior(0.0, 0.0)


def prior_of(variances: Sequence[float], freedom: Sequence[float]) -> Prior:
    """Estimate the prior from positive variances and their degrees of freedom; none from fewer than three."""
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
    """Return x with trigamma(x) = value, by 1 / x < trigamma(x) < 1 / x + 1 / x^2."""
    from scipy.optimize import brentq
    from scipy.special import polygamma

    most = (1 + math.sqrt(1 + 4 * value)) / (2 * value)
    return float(brentq(lambda x: 1 / polygamma(1, x) - 1 / value, 1 / value, most, rtol=1e-14, xtol=1e-300))


def moderated(one: Inference, prior: Prior, level: float) -> tuple[float, float] | None:
    """Return the interval with moderated variances; None if there is none.

    A condition without spread adds none, as in the plain interval.
    """
    if one.exact or one.alike:
        return None
    free = [part for part in one.parts if part.n > part.centred > 0]
    if one.counts or one.problem or not free or prior.df == 0 or len(free) < len(one.parts):
        return one.reach(level)
    total = weight = 0.0
    for part in free:
        own, freedom = part.variance()
        if own <= 0:
            continue
        variance, df = prior.moderated(own * part.n / part.share**2, freedom)
        share = part.share**2 * variance / part.n
        total, weight = total + share, weight + share**2 / df
    if total <= 0:
        return one.reach(level)
    far = t_quantile(0.5 + level / 2, total**2 / weight) * math.sqrt(total)
    return one.value - far, one.value + far


def table_prior(figures: Iterable[Inference]) -> Prior:
    """Estimate the prior of the variance from the cells of several estimates."""
    spreads = [
        (variance * part.n / part.share**2, df)
        for one in figures
        for part in one.parts
        if part.n > part.centred > 0 and (pair := part.variance())[0] > 0
        for variance, df in [pair]
    ]
    return prior_of([variance for variance, _ in spreads], [df for _, df in spreads])
