"""From a bootstrap distribution to its percentile interval, for statistics that are no means."""

from __future__ import annotations

import numpy as np

from ostrom.analysis.statistics.errors import Undefined
from ostrom.analysis.statistics.result import Interval
from ostrom.analysis.statistics.samples import ROUNDING, Floats

MOST_UNDEFINED = 0.05
"""Share of resamples without a value beyond which no interval is given."""


def bootstrap_interval(draws: Floats, estimate: float, level: float) -> Interval:
    """The interval of finite draws."""
    # The same value comes out of sums in another order with other last digits; it is still the same value.
    width = ROUNDING * max(float(np.abs(draws).max()), abs(estimate))
    draws = np.where(np.abs(draws - estimate) <= width, estimate, draws)
    if np.all(draws == estimate):
        return Interval(estimate, estimate, level)
    low, high = np.quantile(draws, ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(low), float(high), level)


def defined_draws(draws: Floats, what: str) -> Floats:
    """The finite draws, or an error when too many resamples have no value."""
    finite = draws[np.isfinite(draws)]
    missing = draws.size - finite.size
    if missing > MOST_UNDEFINED * draws.size:
        raise Undefined(
            f"{what} has no value in {missing} of {draws.size} resamples: too few clusters carry it"
        )
    return finite
