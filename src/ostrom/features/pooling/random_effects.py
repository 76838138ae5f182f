"""Estimates of several labs as one: a random-effects model, fitted by restricted maximum likelihood.

Lab i has the estimate y_i = x_i b + u_i + e_i, where u_i is what sets labs apart (variance tau^2) and e_i the sampling
error of the lab (variance v_i). Intervals are those of Hartung & Knapp (2001) and Sidik & Jonkman (2002): Student's t
with k - p degrees of freedom, and the variance of the fit times q, the weighted mean square of the residuals. Where tau
is estimated as 0, q may come out near 0 by chance and the interval would be far too short, so q is never less than 1
(Roever, Knapp & Friede 2015). Coverage with few labs is measured in docs/methods.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ostrom.analysis.intervals import mean_of
from ostrom.analysis.statistics.means import t_quantile
from ostrom.analysis.statistics.samples import BadSample, Floats, Numbers, checked_level, same_length, sample

ONE_SIGMA = 0.6826894921370859
"""The level of an interval of one standard error in either direction."""
ANYWHERE = (-math.inf, math.inf)
FEWEST_LABS = 5
"""Fewer labs say nothing about where a further one would lie."""
GRID, ZOOMS = 64, 8
"""Steps of a grid of variances, and how often it is laid again around its best one."""


@dataclass(frozen=True)
class Fit:
    """A random-effects model of labs."""

    coefficients: Floats
    errors: Floats
    """Their standard errors (Hartung-Knapp, never shorter than without)."""
    tau2: float
    df: int
    weights: Floats
    """The share of each lab in the mean; of a regression, of its weight."""

    def interval(self, place: int, level: float) -> tuple[float, float]:
        """The confidence interval of a coefficient."""
        reach = t_quantile(0.5 + level / 2, self.df) * float(self.errors[place])
        return float(self.coefficients[place]) - reach, float(self.coefficients[place]) + reach


@dataclass(frozen=True)
class Pooled:
    """The mean of the distribution that labs come from, and how far they lie apart."""

    value: float
    low: float
    high: float
    level: float
    labs: int
    tau: float
    """The standard deviation between labs."""
    i2: float
    """The share of the variance of estimates that lies between labs (Higgins & Thompson 2002)."""
    q: float
    """Cochran's Q; under equal means chi-squared with one degree of freedom less than labs."""
    p: float
    prediction: tuple[float, float] | None
    """Where the mean of a further lab would lie (Higgins, Thompson & Spiegelhalter 2009); None under five labs."""
    weights: tuple[float, ...]
    model_free: tuple[float, float] | None
    """Bounds of the plain mean of labs, for labs of any distribution between the bounds; None without bounds. It is
    another mean than that of the model, which weighs labs."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "value": self.value, "low": self.low, "high": self.high, "level": self.level, "labs": self.labs,
            "tau": self.tau, "i2": self.i2, "q": self.q, "q_df": self.labs - 1, "q_p": self.p,
            "prediction": None if self.prediction is None else list(self.prediction),
            "model_free": None if self.model_free is None else list(self.model_free),
        }  # fmt: skip


def fitted(values: Numbers, variances: Numbers, moderator: Numbers | None = None) -> Fit:
    """The model with a mean, or with a mean and the slope over a moderator."""
    y, v = sample(values, "values"), sample(variances, "variances")
    same_length("variances", v.size, "values", y.size)
    centre = float(y.mean())  # sums of squares around it keep their digits
    y = y - centre
    if v.min() < 0:
        raise BadSample(f"variances must not be negative (found {v.min():g})")
    x = np.ones((y.size, 1))
    if moderator is not None:
        x = np.column_stack([x, sample(moderator, "moderator")])
    if y.size <= x.shape[1]:
        raise BadSample(f"needs more than {x.shape[1]} labs (found {y.size})")
    scale = float(np.ptp(y)) ** 2 + float(v.max())
    v = _above_zero(y, v)
    tau2 = _tau2(y, v, x, scale)
    weights = 1 / (v + tau2)
    inverse = np.linalg.inv(x.T @ (weights[:, None] * x))
    coefficients = inverse @ (x.T @ (weights * y))
    df = y.size - x.shape[1]
    errors = np.sqrt(max(float(weights @ (y - x @ coefficients) ** 2) / df, 1.0) * np.diag(inverse))
    coefficients[0] += centre
    return Fit(coefficients, errors, tau2, df, weights / weights.sum())


def _tau2(y: Floats, v: Floats, x: Floats, scale: float) -> float:
    """The variance between labs of the largest restricted likelihood, by finer and finer grids."""

    def likelihood(tau2: Floats) -> Floats:
        weights = 1 / (v + tau2[:, None])
        squares = np.einsum("tk,ki,kj->tij", weights, x, x)
        sums = (weights * y) @ x
        explained = np.einsum("ti,ti->t", sums, np.linalg.solve(squares, sums[:, :, None])[:, :, 0])
        rest: Floats = weights @ y**2 - explained
        height: Floats = np.log(weights).sum(axis=1) - np.linalg.slogdet(squares)[1] - rest
        return height

    # Labs are not further apart than their range, so the variance between them is not larger than its square.
    grid = scale * (np.arange(GRID + 1) / GRID) ** 3
    for _ in range(ZOOMS):
        best = int(np.argmax(likelihood(grid)))
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, GRID)], GRID + 1)
    return float(grid[int(np.argmax(likelihood(grid)))])


def pooled(values: Numbers, variances: Numbers, level: float = 0.95, bounds: tuple[float, float] = ANYWHERE) -> Pooled:
    """The mean of the labs' distribution; no limit lies beyond the ``bounds`` of the values.

    >>> found = pooled([0.1, 0.5, 0.9], [0.01, 0.01, 0.01])  # equal variances: the t interval of the three values
    >>> round(found.value, 6), round(found.low, 3), round(found.high, 3), round(found.tau, 4)
    (0.5, -0.494, 1.494, 0.3873)
    """
    checked_level(level)
    y, v = sample(values, "values"), sample(variances, "variances")
    fit = fitted(y, v)
    value, (low, high) = float(fit.coefficients[0]), fit.interval(0, level)
    fixed = 1 / _above_zero(y, v)
    q = float(fixed @ (y - float(fixed @ y) / float(fixed.sum())) ** 2)
    typical = (y.size - 1) * float(fixed.sum()) / (float(fixed.sum()) ** 2 - float(fixed @ fixed))
    prediction = None
    if y.size >= FEWEST_LABS:
        reach = t_quantile(0.5 + level / 2, y.size - 2) * math.hypot(math.sqrt(fit.tau2), float(fit.errors[0]))
        prediction = (_within(value - reach, bounds), _within(value + reach, bounds))
    return Pooled(
        value, _within(low, bounds), _within(high, bounds), level, int(y.size), math.sqrt(fit.tau2),
        fit.tau2 / (fit.tau2 + typical), q, _chance(q, int(y.size) - 1), prediction, tuple(map(float, fit.weights)),
        _model_free(y, level, bounds),
    )  # fmt: skip


def _model_free(y: Floats, level: float, bounds: tuple[float, float]) -> tuple[float, float] | None:
    """Betting bounds of the unweighted mean, each lab being one value."""
    return mean_of(y, bounds=bounds).bounds(level) if all(map(math.isfinite, bounds)) else None


def evened(variances: Sequence[float], counts: Sequence[int]) -> list[float]:
    """Variances of estimates as if one match of any lab varied as much as that of another.

    Of values between bounds the lab that lies nearer to one by chance has the smaller variance: with variances of their
    own, the labs would draw the mean to that bound. Labs without sampling error keep none.

    >>> evened([0.01, 0.03, 0.0], [10, 10, 5])
    [0.02, 0.02, 0.0]
    """
    noisy = [(v, n) for v, n in zip(variances, counts, strict=True) if v > 0]
    one = sum(n * n * v for v, n in noisy) / max(sum(n for _, n in noisy), 1)
    return [one / n if v > 0 else 0.0 for v, n in zip(variances, counts, strict=True)]


def _above_zero(y: Floats, v: Floats) -> Floats:
    """The variances; a lab without sampling error weighs much, not without end."""
    least: Floats = np.maximum(v, max(1e-12 * (float(np.ptp(y)) ** 2 + float(v.max())), 1e-24))
    return least


def _within(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1])


def _chance(q: float, df: int) -> float:
    from scipy.stats import chi2

    return float(chi2.sf(q, df))


def without_each(
    values: Sequence[float], variances: Sequence[float], level: float = 0.95, bounds: tuple[float, float] = ANYWHERE
) -> list[Pooled]:
    """The mean without each lab in turn; none with two labs."""
    if len(values) < 3:
        return []
    return [
        pooled([*values[:i], *values[i + 1 :]], [*variances[:i], *variances[i + 1 :]], level, bounds)
        for i in range(len(values))
    ]
