"""The bounds of gates written a second time, from the description in docs/statistics.md, with NumPy and SciPy alone.

Values are given as groups with weights, as in ``limits``. The capital is a plain product over bets and units, and
the bound is found by a search over candidates instead of Newton's method.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import optimize, special

FULL, EVEN = 0.5, [k / 20 for k in range(1, 21)]
SMALL = [0.05 / 2**k for k in range(1, 7)]


def shares() -> list[tuple[float, float]]:
    """Every bet with its part of the capital: a half bets all, 21 equal parts make up the rest."""
    part = (1 - FULL) / 21
    even = [(bet, part + (FULL if bet == 1 else 0.0)) for bet in EVEN]
    return [*even, *((bet, part / len(SMALL)) for bet in SMALL)]


def log_capital(values: Any, weights: Any, mean: float) -> Any:
    """The logarithm of the capital against a weighted mean; units are the last axis."""
    rates = weights / weights.max()
    with np.errstate(divide="ignore"):
        logs = [math.log(part) + np.log(1 - c * rates + c * rates * values / mean).sum(axis=-1) for c, part in shares()]
    return special.logsumexp(logs, axis=0)


def lower(values: Any, weights: Any, tail: float) -> float:
    """The largest mean against which the capital reaches 1 / tail."""
    goal = -math.log(tail)

    def over(mean: float) -> float:
        return float(log_capital(values, weights, mean)) - goal

    least = 1e-9
    return 0.0 if over(least) < 0 else float(optimize.brentq(over, least, 1 - 1e-12, xtol=1e-13))


def scaled(
    groups: Sequence[Any], coefficients: Sequence[float], bounds: tuple[float, float]
) -> tuple[Any, Any, float, float]:
    """All units from 0 to 1, their weights, and the least and the largest value of the combination."""
    low, high = bounds
    values, weights, least, most = [], [], 0.0, 0.0
    for group, a in zip(groups, coefficients, strict=True):
        data = (np.asarray(group, dtype=float) - low) / (high - low)
        values.append(data if a > 0 else 1 - data)
        weights.append(np.full(data.shape[-1], abs(a) / data.shape[-1]))
        least, most = least + min(a * low, a * high), most + max(a * low, a * high)
    mass = np.concatenate(weights)
    return np.concatenate(values, axis=-1), mass / mass.sum(), least, most


def bounds_of(
    groups: Sequence[Sequence[float]], coefficients: Sequence[float], bounds: tuple[float, float], level: float = 0.95
) -> tuple[float, float]:
    """Both bounds of a sum of coefficient times group mean."""
    values, weights, least, most = scaled(groups, coefficients, bounds)
    tail, up = (1 - level) / 2, upwards(groups, coefficients)
    span = most - least
    return least + span * best(values, weights, up, tail), most - span * best(1 - values, weights, up, tail)


def upwards(groups: Sequence[Any], coefficients: Sequence[float]) -> Any:
    """Which units count upwards."""
    return np.concatenate([np.full(np.shape(g)[-1], a > 0) for g, a in zip(groups, coefficients, strict=True)])


def best(values: Any, weights: Any, up: Any, tail: float) -> float:
    """The lower bound; of a difference the better of one bet on all units and of bets on each side."""
    if up.all() or not up.any():
        return lower(values, weights, tail)
    return max(lower(values, weights, tail * 2 / 3), apart(values, weights, up, tail))


def apart(values: Any, weights: Any, up: Any, tail: float) -> float:
    """The lower bound of a difference by those of its two sides, each with a sixth of the error."""
    return sum(
        float(weights[of].sum()) * lower(values[of], weights[of] / weights[of].sum(), tail / 6) for of in (up, ~up)
    )


def verdicts(
    groups: Sequence[Any],
    coefficients: Sequence[float],
    bounds: tuple[float, float],
    allowed: tuple[float, float],
    level: float = 0.95,
) -> Any:
    """Pass, fail or undecided for every row of values, by the capital against the ends of what is allowed."""
    values, weights, least, most = scaled(groups, coefficients, bounds)
    up, tail, slack = upwards(groups, coefficients), (1 - level) / 2, 1e-9
    mixed = up.any() and not up.all()
    goal = -math.log(tail * 2 / 3 if mixed else tail)

    def beyond(of: Any, mean: float) -> Any:
        if not 0 < mean < 1:
            return np.full(of.shape[:-1], mean <= 0)
        sure = log_capital(of, weights, mean) >= goal - slack
        if mixed:
            rows = of.reshape(-1, of.shape[-1])
            sides = [apart(row, weights, up, tail) >= mean - slack for row in rows]
            sure = sure | np.reshape(sides, of.shape[:-1])
        return sure

    low, high = ((end - least) / (most - least) for end in allowed)
    passes = beyond(values, low) & beyond(1 - values, 1 - high)
    fails = (low > 0) & beyond(1 - values, 1 - low) | (high < 1) & beyond(values, high)
    return np.where(passes, "pass", np.where(fails, "fail", "undecided"))
