"""From a bootstrap distribution to an interval: percentile, and BCa (Efron 1987)."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from ostrom.analysis.statistics.errors import Undefined
from ostrom.analysis.statistics.result import Interval
from ostrom.analysis.statistics.samples import ROUNDING, Floats, is_constant

METHODS = ("percentile", "bca")
MOST_UNDEFINED = 0.05
"""Share of resamples without a value beyond which no interval is given."""


def bootstrap_interval(
    draws: Floats, estimate: float, jackknife: Floats | None, method: str, level: float
) -> Interval:
    """The interval of finite draws; BCa needs the leave-one-out values as well."""
    # The same value comes out of sums in another order with other last digits; it is still the same value.
    width = ROUNDING * max(float(np.abs(draws).max()), abs(estimate))
    draws = np.where(np.abs(draws - estimate) <= width, estimate, draws)
    if np.all(draws == estimate):
        return Interval(estimate, estimate, level)
    tails = ((1 - level) / 2, (1 + level) / 2)
    if method == "bca":
        assert jackknife is not None
        tails = _bca_tails(draws, estimate, jackknife, tails)
    low, high = np.quantile(draws, tails)
    return Interval(float(low), float(high), level)


def bootstrap_error(draws: Floats) -> float:
    """The standard error that finite draws give; 0 where all agree up to rounding."""
    return 0.0 if is_constant(draws) else float(draws.std(ddof=1))


def defined_draws(draws: Floats, what: str) -> Floats:
    """The finite draws, or an error when too many resamples have no value."""
    finite = draws[np.isfinite(draws)]
    missing = draws.size - finite.size
    if missing > MOST_UNDEFINED * draws.size:
        raise Undefined(
            f"{what} has no value in {missing} of {draws.size} resamples: too few clusters carry it"
        )
    return finite


def _bca_tails(
    draws: Floats, estimate: float, jackknife: Floats, tails: tuple[float, float]
) -> tuple[float, float]:
    if not np.all(np.isfinite(jackknife)):
        raise Undefined("BCa is undefined: leaving out one unit leaves no value; use the percentile method")
    below = float(np.mean(draws < estimate) + np.mean(draws == estimate) / 2)
    if not 0 < below < 1:
        raise Undefined("BCa is undefined: the estimate lies outside its bootstrap distribution")
    normal = NormalDist()
    shift = normal.inv_cdf(below)
    pull = jackknife.mean() - jackknife
    cubes, squares = float(np.sum(pull**3)), float(np.sum(pull**2))
    acceleration = 0.0 if is_constant(jackknife) else cubes / (6 * squares**1.5)
    moved = []
    for tail in tails:
        z = shift + normal.inv_cdf(tail)
        moved.append(normal.cdf(shift + z / (1 - acceleration * z)))
    return moved[0], moved[1]
