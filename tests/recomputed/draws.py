"""Simulated runs with a known truth, and what gates and contrasts make of them; NumPy and SciPy alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from tests.recomputed import bets
from tests.recomputed.limits import Bounds, limits

Matrix = Any
"""Simulated runs by row, matches by column."""
PASS, UNDECIDED, FAIL = "pass", "undecided", "fail"


@dataclass(frozen=True)
class Truth:
    """Values of one side: their mean, and the sd that they have at the baseline."""

    baseline: float
    sd: float
    bounds: Bounds = (0.0, 1.0)

    def at(self, mean: float, uniform: Matrix) -> Matrix:
        """Values with this mean from uniform numbers: beta, gamma or normal, by the number of bounds."""
        low, high = self.bounds
        if low is not None and high is not None:
            most = (self.baseline - low) * (high - self.baseline)
            precision = 1 / min(self.sd**2 / most, 0.9999) - 1
            share = (mean - low) / (high - low)
            return low + (high - low) * special.betaincinv(share * precision, (1 - share) * precision, uniform)
        if low is not None:
            shape = ((self.baseline - low) / self.sd) ** 2
            return low + special.gammaincinv(shape, uniform) * (mean - low) / shape
        return mean + self.sd * special.ndtri(uniform)


def sides(
    truth: Truth, effect: float, shape: tuple[int, int], rng: np.random.Generator, correlation: float = 0.0
) -> tuple[Matrix, Matrix]:
    """Both sides of a contrast; of partners a share of ``correlation`` has the same quantile."""
    one, two = rng.random(shape), rng.random(shape)
    two = np.where(rng.random(shape) < correlation, one, two)
    return truth.at(truth.baseline + effect, one), truth.at(truth.baseline, two)


def unpaired(first: Matrix, second: Matrix, bounds: Bounds, conditions: int = 1, level: float = 0.95) -> list[Any]:
    """Intervals of the difference of independent samples; columns belong to the conditions in turn."""
    weights = [1 / conditions] * conditions + [-1 / conditions] * conditions
    return [
        limits([side[c::conditions] for side in both for c in range(conditions)], weights, level)
        for both in zip(first, second, strict=True)
    ]


def per_seed(first: Matrix, second: Matrix, conditions: int) -> Matrix:
    """The differences of shared seeds, averaged over the conditions of a seed."""
    return (first - second).reshape(len(first), -1, conditions).mean(axis=2)


def paired(first: Matrix, second: Matrix, bounds: Bounds, conditions: int = 1, level: float = 0.95) -> list[Any]:
    """Intervals of the difference where seeds are shared: the seed is the unit."""
    return [limits([row], [1.0], level) for row in per_seed(first, second, conditions)]


def means(values: Matrix, bounds: Bounds, conditions: int = 1, level: float = 0.95) -> list[Any]:
    """Intervals of a level over conditions that the design fixes."""
    weights = [1 / conditions] * conditions
    return [limits([row[c::conditions] for c in range(conditions)], weights, level) for row in values]


def verdict(found: tuple[float, float] | None, least: float, most: float) -> str:
    """Pass where the whole interval is allowed, fail where all of it is not, on one side."""
    if found is None:
        return UNDECIDED
    low, high = found
    if low >= least - 1e-9 and high <= most + 1e-9:
        return PASS
    return FAIL if high < least - 1e-9 or low > most + 1e-9 else UNDECIDED


def gate_rates(
    values: Matrix, bounds: tuple[float, float], least: float, most: float, second: Matrix | None = None
) -> tuple[float, float, float]:
    """Shares of pass, undecided and fail of gates on a mean, or on the difference of two independent samples."""
    sides, signs = ([values], [1.0]) if second is None else ([values, second], [1.0, -1.0])
    said = bets.verdicts(sides, signs, bounds, (least, most)).tolist()
    return tuple(said.count(answer) / len(said) for answer in (PASS, UNDECIDED, FAIL))


def rates(found: Sequence[Any], least: float, most: float) -> tuple[float, float, float]:
    """Shares of pass, undecided and fail."""
    said = [verdict(one, least, most) for one in found]
    return tuple(said.count(answer) / len(said) for answer in (PASS, UNDECIDED, FAIL))  # type: ignore[return-value]


def excluded(found: Sequence[Any], side: int = 0) -> float:
    """How often an interval excludes 0: above for 1, below for -1, on either side for 0."""
    hits = 0
    for one in found:
        if one is not None:
            hits += (side >= 0 and one[0] > 1e-9) or (side <= 0 and one[1] < -1e-9)
    return hits / len(found)


def apart(one: float, many: int, two: float, times: int) -> float:
    """How many standard errors two shares of simulated runs differ by."""
    whole = (one * many + two * times) / (many + times)
    spread = math.sqrt(max(whole * (1 - whole), 1 / (many + times)) * (1 / many + 1 / times))
    return abs(one - two) / spread
