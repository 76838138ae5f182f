"""Betting bounds of a mean: valid for every distribution within known bounds, at any number of units.

Bet that the mean is more than m: the capital, a product of 1 - c + c x / m over independent values x from 0 to 1, is 1
on average, or less, where the mean is m or less, whatever the distribution. It then exceeds 1 / a with a chance of at
most a, after any number of values (Ville 1939; Waudby-Smith & Ramdas 2024). The lower bound is the largest m against
which the capital exceeds 1 / a. It is shared among fixed bets c (a universal portfolio, Cover 1991): half of it bets
everything, which is best where all values are 1, the rest is spread over smaller bets for values that vary. No bet
depends on a value, so the order of the values does not matter, and looking again after more of them costs nothing.

Values need not have one mean, and conditions that the design fixes may differ as they like. For the mean of values
with weights w_i, the product has 1 - c_i + c_i x_i / m where c_i is c times w_i over the largest weight. Over all means
that values can have at a weighted mean of m its average is largest where each is m (its logarithm is concave, and its
slopes there are in the proportion of the weights), and is 1 there. So what hardly weighs is hardly bet on: the middle
of a line costs its slope nothing. A difference is the weighted mean of the values of one side and of 1 - value of the
other.

One such bet on both sides is strong where they lie in the middle of the range, and weak where both lie near one end:
the values of one side are then near 1, those of the other near 0, and what is allowed for both is little for each. So
two thirds of the error are left to it, and a third to bets on each side by itself; the better of the two bounds stands.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ostrom.analysis.statistics.samples import ROUNDING, Bools, Floats

STEPS, HALVINGS = 20, 6
BETS: Floats = np.concatenate([0.5 ** np.arange(HALVINGS, 0, -1) / STEPS, np.arange(1, STEPS + 1) / STEPS])
"""Stakes as shares of the capital; small ones serve samples of thousands of values."""
_EACH = 0.5 / (STEPS + 1)
MASS: Floats = np.array([_EACH / HALVINGS] * HALVINGS + [_EACH] * (STEPS - 1) + [_EACH + 0.5])
LOG_MASS: Floats = np.log(MASS)
"""The share of the capital on each stake, and its logarithm: half of the capital bets everything."""
FEW = 64
"""The most distinct values whose bound is remembered."""
TOGETHER = 2 / 3
"""The share of the error for one bet on both sides of a difference; the rest is for bets on each side."""
MOST_MULTIPLE = 1e6
FAR = 60.0
"""A bound below exp(-60) of the range counts as no bound."""


def lower_bound(values: Floats, weights: Floats, tail: float, times: float = 1.0, top: float | None = None) -> float:
    """Return a lower bound of the weighted mean of independent values in 0..1, wrong with chance at most ``tail``.

    ``top``: the largest weight that a unit can have, where chance decides about weights too.

    >>> round(lower_bound(np.ones(40), np.full(40, 1 / 40), 0.025), 3)
    0.901
    """
    if values.max() <= 0:
        return 0.0
    # Complex numbers are sorted by both of their parts, as rows of a table are, and much faster.
    pairs, counts = np.unique(values + 1j * weights, return_counts=True)
    search = _search if pairs.size <= FEW else _search.__wrapped__
    return search(pairs.tobytes(), counts.tobytes(), times, top, -math.log(tail))


@lru_cache(maxsize=1 << 14)
@np.errstate(divide="ignore")  # log(0): a full stake on a value of 0 loses all capital
def _search(pairs: bytes, many: bytes, times: float, top: float | None, goal: float) -> float:
    """Return the lower bound of values whose weights are the imaginary parts; a report asks again and again."""
    of, counts = np.frombuffer(pairs, np.complex128), np.frombuffer(many, np.int64).astype(np.float64) * times
    x, w = of.real, of.imag / (top or of.imag.max())
    products, kept, at = w * x, 1 - BETS[:, None] * w, -FAR
    # The log capital is convex and decreasing in ln m, so Newton's method from the left never passes the root.
    for _ in range(200):
        capital, slope = _capital(products, kept, counts, at)
        step = (capital - goal) / -slope if slope < 0 else 0.0
        if step <= 1e-12:
            break
        at += step
    return math.exp(at) if capital >= goal - 1e-9 else 0.0


def side_by_side(values: Floats, weights: Floats, up: Bools, tail: float, times: float = 1.0) -> float:
    """Return a lower bound of the same mean from separate bets on its two sides."""
    each = (1 - TOGETHER) * tail / 2
    return math.fsum(
        float(weights[side].sum()) * lower_bound(values[side], weights[side], each, times) for side in (up, ~up)
    )


@np.errstate(divide="ignore")
def exceeds(values: Floats, weights: Floats, mean: float, tail: float) -> bool:
    """Return whether the lower bound is at least ``mean``, by one evaluation instead of a search."""
    if not 0 < mean < 1:
        return mean <= 0
    share = weights / weights.max()
    capital, _ = _capital(share * values, 1 - BETS[:, None] * share, np.ones(values.size), math.log(mean))
    return capital >= -math.log(tail)


def _capital(products: Floats, kept: Floats, counts: Floats, at: float) -> tuple[float, float]:
    """Return the log capital against the mean exp(``at``), and its slope.

    ``products`` are weights times values, ``kept`` what every bet leaves of the capital; the largest weight is 1.
    """
    gains = BETS[:, None] * (products * math.exp(-at))
    factors = kept + gains
    logs = LOG_MASS + np.log(factors) @ counts
    falls = gains / np.maximum(factors, 1e-300)
    top = float(logs.max())
    shares = np.exp(logs - top)
    total = float(shares.sum())
    return top + math.log(total), -float(shares @ (falls @ counts)) / total


def least_multiple(weights: Floats, low: float, high: float, tail: float, up: Bools | None = None) -> float:
    """Return by which factor units must grow, at best, to show that the mean lies between two values.

    The best case for a single bound is values that are all at the far end, for two bounds values that are all alike.

    >>> math.ceil(10 * least_multiple(np.full(10, 0.1), 0.9, 1.0, 0.025))
    40
    """
    if low >= 1 or high <= 0:
        return math.inf
    if low <= 0 and high >= 1:
        return 0.0

    if up is not None:
        ends = [likely_multiple(of.astype(np.float64), weights, low, high, tail, up) for of in (up, ~up, up | ~up)]
        return min(*ends, least_multiple(weights, low, high, TOGETHER * tail))

    def needed(mean: float) -> float:
        return likely_multiple(np.full(weights.size, mean), weights, low, high, tail)

    if low <= 0 or high >= 1:
        return needed(0.0 if low <= 0 else 1.0)
    left, right = low, high  # ternary search: one bound needs less as the other needs more
    for _ in range(40):
        third = (right - left) / 3
        nearer = needed(left + third) <= needed(right - third)
        left, right = (left, right - third) if nearer else (left + third, right)
    return needed((left + right) / 2)


def likely_multiple(
    values: Floats, weights: Floats, low: float, high: float, tail: float, up: Bools | None = None
) -> float:
    """Return by which factor units like these must grow to show that their mean lies between two values.

    >>> likely_multiple(np.array([0.0, 1.0]), np.array([0.5, 0.5]), 0.5, 1.0, 0.025)
    inf
    """
    above = 0.0 if low <= 0 else _multiple(values, weights, low, tail, up)
    return max(above, 0.0 if high >= 1 else _multiple(1 - values, weights, 1 - high, tail, up))


def _multiple(values: Floats, weights: Floats, against: float, tail: float, up: Bools | None = None) -> float:
    if against >= 1:
        return math.inf
    if up is not None:
        low, high = 0.0, _multiple(values, weights, against, TOGETHER * tail)
        while high == math.inf or high - low > 0.01 * high:
            middle = (low + high) / 2 if high < math.inf else max(1.0, 2 * low)
            if middle > MOST_MULTIPLE:
                return math.inf
            reached = side_by_side(values, weights, up, tail, middle) >= against
            low, high = (low, middle) if reached else (middle, high)
        return high
    pairs, counts = np.unique(np.column_stack([values, weights]), axis=0, return_counts=True)
    x, w = pairs.T
    with np.errstate(divide="ignore"):  # log(0): a full stake on a value of 0 loses all capital
        growth = np.log(1 + BETS[:, None] * (w / w.max()) * (x / against - 1)) @ counts
    if growth.max() <= ROUNDING:
        return math.inf
    low, high, goal = 0.0, -math.log(tail * float(MASS.min())) / float(growth.max()), -math.log(tail)
    for _ in range(60):
        middle = (low + high) / 2
        logs = LOG_MASS + middle * growth
        reached = float(logs.max()) + math.log(float(np.exp(logs - logs.max()).sum())) >= goal
        low, high = (low, middle) if reached else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class Bet:
    """A weighted mean of independent values in 0..1, scaled to a figure between ``least`` and ``most``."""

    values: Floats
    weights: Floats
    least: float
    most: float
    labels: tuple[Hashable, ...] | None = None
    """The unit of each value; None if no other figure shares units."""
    up: Bools | None = None
    """Which values enter the figure with a positive sign; None means all."""
    top: float | None = None
    """For a ratio: the largest weight of a unit. The bet is on numerator - ratio x denominator."""

    @property
    def sides(self) -> Bools | None:
        """Return which values have a positive sign, if signs are mixed; None otherwise."""
        return None if self.up is None or not self.up.any() or self.up.all() else self.up

    def bounds(self, tail: float) -> tuple[float, float]:
        """Return the lower and the upper bound of the figure, each wrong with chance at most ``tail``."""
        width, sides = self.most - self.least, self.sides
        low, high = (
            lower_bound(of, self.weights, tail, top=self.top)
            if sides is None
            else max(lower_bound(of, self.weights, TOGETHER * tail), side_by_side(of, self.weights, sides, tail))
            for of in (self.values, 1 - self.values)
        )
        return self.least + width * low, self.most - width * high

    def times(self, factor: float) -> Bet:
        """Return the bet on a multiple of the figure."""
        ends = sorted((factor * self.least, factor * self.most))
        if factor > 0:
            return replace(self, least=ends[0], most=ends[1])
        return replace(self, values=1 - self.values, least=ends[0], most=ends[1], up=~self._up)

    @property
    def _up(self) -> Bools:
        return np.ones(self.values.size, np.bool_) if self.up is None else self.up

    def joined(self, other: Bet) -> Bet | None:
        """Return the bet on the sum of two figures with identical or disjoint units; None otherwise."""
        if self.top or other.top:
            return None
        own_width, other_width = self.most - self.least, other.most - other.least
        ends = self.least + other.least, self.most + other.most
        mine, theirs = set(self.labels or ()), set(other.labels or ())
        if not mine & theirs:
            mass = np.concatenate([own_width * self.weights, other_width * other.weights])
            return Bet(
                np.concatenate([self.values, other.values]),
                mass / mass.sum(),
                *ends,
                None if self.labels is None or other.labels is None else self.labels + other.labels,
                np.concatenate([self._up, other._up]),
            )
        if mine != theirs or self.labels is None or other.labels is None:
            return None
        place = {label: at for at, label in enumerate(other.labels)}
        order = [place[label] for label in self.labels]
        if not np.allclose(self.weights, other.weights[order], rtol=1e-9, atol=0):
            return None
        return Bet(
            np.clip(
                (own_width * self.values + other_width * other.values[order]) / (own_width + other_width), 0.0, 1.0
            ),
            self.weights,
            *ends,
            self.labels,
        )

    def _rescaled(self, low: float, high: float) -> tuple[float, float]:
        """Return limits of the figure on the scale of the values, 0..1."""
        width = self.most - self.least
        return (low - self.least) / width, (high - self.least) / width

    def surely_within(self, low: float, high: float, tail: float) -> bool:
        """Return whether both bounds lie in a range."""
        if self.sides is not None or self.top:
            ends = self.bounds(tail)
            return low <= ends[0] and ends[1] <= high
        below, above = self._rescaled(low, high)
        return exceeds(self.values, self.weights, below, tail) and exceeds(
            1 - self.values, self.weights, 1 - above, tail
        )

    def least_multiple(self, low: float, high: float, tail: float) -> float:
        """Return by which factor units must grow, at best, to show that the figure lies in a range."""
        return least_multiple(self.weights, *self._rescaled(low, high), tail, self.sides)

    def likely_multiple(self, low: float, high: float, tail: float) -> float:
        """Return by which factor units like those seen must grow to show that the figure lies in a range."""
        return likely_multiple(self.values, self.weights, *self._rescaled(low, high), tail, self.sides)
