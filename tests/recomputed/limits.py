"""The interval of docs/statistics.md written a second time, from its description, with NumPy and SciPy alone.

Nothing of ``ostrom`` is imported, so that an error there does not repeat itself here. Quantiles come from SciPy, the
joint shift by unseen outcomes from a search instead of its closed form. Values are given as groups with coefficients: a
mean is one group, a difference of independent samples two, a mean of pairs one group of differences per condition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import optimize, special, stats

Values = Sequence[float]
Bounds = tuple[float | None, float | None]
REACH, ENOUGH, SAME = 1.8, 10.0, 1e-9
NEAR, TOGETHER = 0.02, 0.0225


class Sample:
    """What one group says: its mean, the variance of that mean, and how its values lie."""

    def __init__(self, values: Values, bounds: Bounds, together: float = TOGETHER) -> None:
        data = np.sort(np.asarray(values, dtype=float))
        self.n, self.mean, self.bounds = data.size, float(data.mean()), bounds
        low, high = bounds
        scale = high - low if low is not None and high is not None else float(np.abs(data).max()) or 1.0
        self.below = math.inf if low is None else self.mean - low
        self.above = math.inf if high is None else high - self.mean
        self.alike = data.size < 2 or float(np.ptp(data)) <= SAME * scale
        self.variance = 0.0 if self.alike else float(data.var(ddof=1)) / data.size
        shown = np.unique(np.round(data / scale, 8))
        # How many values are like each one: less for those that are further away, none beyond a distance.
        apart = np.abs(data[:, None] - data[None, :]) / scale
        alike = np.clip(1 - apart / NEAR, 0, None) if None not in bounds else 1.0 * (apart <= SAME)
        counts = alike.sum(axis=1)
        most = np.flatnonzero(counts >= counts.max() - SAME * data.size)
        self.common = float(data[most[(most.size - 1) // 2]])
        self.others = max(0.0, data.size - float(counts.max()))
        self.close = 0.0
        if None not in bounds and not self.alike:
            spread = float(data.var(ddof=1)) / (together * scale) ** 2 / (data.size / 10) ** (1 / 6)
            self.close = 1 / (1 + spread**3)
        self.skew = float(stats.skew(data)) if None in bounds and not self.alike else 0.0
        self.successes: int | None = None
        if low is not None and high is not None and shown.size == 2:
            off = abs(float(data[0]) - low) + abs(float(data[-1]) - high)
            self.successes = int(np.sum(data > (low + high) / 2)) if off <= SAME * scale else None

    @property
    def pile(self) -> float:
        """From 0, where values vary freely, to 1, where all are one value."""
        if self.alike:
            return 1.0
        n = self.n
        on_one = (1 / (1 + self.others) - 1 / n) / (1 - 1 / n)
        carriers = min(self.below, self.above) ** 2 / self.variance
        return max(0.0, on_one, (1 / (1 + carriers) - 1 / (1 + n)) / (1 - 1 / (1 + n)), self.close)


def limits(
    groups: Sequence[Values],
    weights: Sequence[float],
    bounds: Bounds,
    level: float = 0.95,
    together: float = TOGETHER,
) -> tuple[float, float] | None:
    """The interval of a sum of weight times group mean; None where there is none."""
    of = [Sample(values, bounds, together) for values in groups]
    if any(s.n < 2 or (s.alike and None in bounds) for s in of):
        return None
    value = math.fsum(w * s.mean for w, s in zip(weights, of, strict=True))
    if len(of) == 1 and of[0].successes is not None:
        low, high = bounds
        assert low is not None and high is not None
        ends = _exact(of[0].successes, of[0].n, level)
        both = sorted(weights[0] * (low + (high - low) * end) for end in ends)
        return both[0], both[1]
    squares = [w * w * s.variance for w, s in zip(weights, of, strict=True)]
    total = math.fsum(squares)
    t = 0.0
    if total > 0:
        freedom = total**2 / math.fsum(q * q / (s.n - 1) for q, s in zip(squares, of, strict=True))
        t = float(special.stdtrit(freedom, 0.5 + level / 2))
    pull = np.array([w * w / s.n for w, s in zip(weights, of, strict=True)])
    worth = float(pull.sum() ** 2 / (pull**2).sum())
    many = worth * float((pull * [s.n for s in of]).sum() / pull.sum())
    reach, few = REACH / math.sqrt(worth), max(1.0, ENOUGH / many)
    distances = []
    for up in (False, True):
        plus = [(w, s) for w, s in zip(weights, of, strict=True) if w > 0]
        minus = [(-w, s) for w, s in zip(weights, of, strict=True) if w < 0]
        shifts = [
            abs(w) * _unseen(s, t, level, reach, few, up == (w > 0)) for w, s in zip(weights, of, strict=True)
        ]
        missed = _together(shifts, [s.n for s in of], level)
        distances.append(
            math.hypot(_sampling(plus, t, level, up), _sampling(minus, t, level, not up), missed)
        )
    least, most = -math.inf, math.inf
    if bounds[0] is not None and bounds[1] is not None:
        least, most = (math.fsum(w * bounds[(w > 0) == up] for w in weights) for up in (False, True))  # type: ignore[operator]
    elif len(of) == 1 and weights[0] > 0:
        least = -math.inf if bounds[0] is None else bounds[0]
        most = math.inf if bounds[1] is None else bounds[1]
    return max(value - distances[0], least), min(value + distances[1], most)


def _exact(successes: int, n: int, level: float) -> tuple[float, float]:
    """Clopper and Pearson's limits."""
    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else float(special.betaincinv(successes, n - successes + 1, tail))
    return low, 1.0 if successes == n else float(special.betaincinv(successes + 1, n - successes, 1 - tail))


def _sampling(parts: Sequence[tuple[float, Sample]], t: float, level: float, up: bool) -> float:
    """Student's distance with a variance that shrinks towards a bound, at least the way back to the common value."""
    if not parts:
        return 0.0
    square = t * t * math.fsum(w * w * s.variance for w, s in parts)
    below, above = math.fsum(w * s.below for w, s in parts), math.fsum(w * s.above for w, s in parts)
    ahead, behind = (above, below) if up else (below, above)
    distance = math.sqrt(square)
    if square > 0 and min(below, above) > 0 and not (math.isinf(below) and math.isinf(above)):
        # x^2 = square times (room at x / room at the mean), on both sides of which the bounds are.
        if math.isinf(ahead):
            a, b = 1.0, -square / behind
        elif math.isinf(behind):
            a, b = 1.0, square / ahead
        else:
            share = square / (ahead * behind)
            a, b = 1 + share, -share * (ahead - behind)
        distance = (-b + math.sqrt(b * b + 4 * a * square)) / (2 * a)
    back = math.hypot(*(w * _back(s, level, up) for w, s in parts))
    return max(distance, back)


def _back(s: Sample, level: float, up: bool) -> float:
    if not 0 < s.others < s.n / 2 - SAME * s.n or (s.common > s.mean) != up:
        return 0.0
    z, k = float(special.ndtri(1 - level)), s.others
    least = k * max(0.0, 1 - 1 / (9 * k) + z / (3 * math.sqrt(k))) ** 3
    return abs(s.mean - s.common) * max(0.0, 1 - least / k)


def _unseen(s: Sample, t: float, level: float, reach: float, few: float, up: bool) -> float:
    sampled = t * math.sqrt(s.variance)
    if math.isinf(s.below) or math.isinf(s.above):
        lean = 0.5 + 0.5 * math.tanh(s.skew)
        if s.bounds != (None, None):
            lean = 1.0 if s.bounds[1] is None else 0.0
        return reach * min(few, 2.0) * (lean if up else 1 - lean) * sampled
    room = s.above if up else s.below
    place = s.below / (s.below + s.above)
    most = _chance(s.n, level) * room
    far = reach * few ** (2 * abs(2 * place - 1)) * ((1 - place) if up else place) * sampled
    return float(max(most * s.pile, min(most, far)))


def _chance(n: float, level: float) -> float:
    return float(1 - ((1 - level) / 2) ** (1 / n))


def _together(shifts: Sequence[float], sizes: Sequence[int], level: float) -> float:
    """The largest common shift by unseen outcomes whose chance of not being seen is still what the level allows."""
    pairs = [(shift / _chance(n, level), n) for shift, n in zip(shifts, sizes, strict=True) if shift > 0]
    if not pairs:
        return 0.0
    allowed = -math.log((1 - level) / 2)

    def spent(price: float) -> float:
        return math.fsum(n * max(0.0, math.log(rate / (n * price))) for rate, n in pairs)

    top = max(rate / n for rate, n in pairs)
    if len(pairs) == 1:
        return float(pairs[0][0] * _chance(pairs[0][1], level))
    price = float(optimize.brentq(lambda p: spent(p) - allowed, top * 1e-30, top, xtol=top * 1e-16))
    return math.fsum(rate * max(0.0, 1 - n * price / rate) for rate, n in pairs)
