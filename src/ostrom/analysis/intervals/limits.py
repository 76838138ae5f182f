"""The one interval of Ostrom: confidence limits of a linear combination of group means.

A mean is a combination of one group, a difference of two, a slope of one group per level. Each limit is the
root of a sum of squares of two distances from the value:

* *Sampling*: Student's t with Welch-Satterthwaite degrees of freedom. In groups with known bounds the variance
  is scaled as the mean nears a bound (Wilson's score interval with an estimated dispersion), which bends
  the interval away from the bound; groups are added as squared distances (MOVER, Zou & Donner 2008).
* *What was not seen*: an outcome that did not occur in n matches may still have a chance of 1 - a^(1/n)
  (a = 0.025 at 95 %; the exact limit of Clopper & Pearson 1934), and then lie at the far bound. This alone
  gives the width where all matches are alike. Where values vary it counts as far as they pile up on one value
  or against a bound, and otherwise at most ``REACH`` times the sampling distance.

A single group of values that are all or nothing is a count and gets the exact limits of Clopper & Pearson.
The constants were chosen by measured coverage and width (`make coverage`, docs/statistics.md).

Quantiles are computed without SciPy: a run prints its first answer with the core packages alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from ostrom.analysis.intervals.betting import exceeds, least_multiple, likely_multiple, lower_bound
from ostrom.analysis.intervals.group import ALIKE, Group
from ostrom.analysis.statistics.samples import Floats, checked_level, without_rounding

TINY = 1e-300
EPSILON = 2.0**-52


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
    # P(|T| > t) = I_x(df/2, 1/2) with x = df / (df + t^2). Newton's method on ln x, kept between two bounds.
    constant = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.lgamma(0.5)
    low, high = -745.0, 0.0
    at = max(-700.0, _start(probability, df))
    for _ in range(200):
        x = math.exp(at)
        off = _incomplete_beta(df / 2, 0.5, x) - tail
        low, high = (at, high) if off < 0 else (low, at)
        density = math.exp(constant + df / 2 * at - 0.5 * math.log(max(-math.expm1(at), TINY)))
        step = off / density if density > 0 else math.inf
        nearer = at - step if low <= at - step <= high else (low + high) / 2
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


MOST_TIMES = 1e6
"""How many times as many units are tried before none are called enough."""
REACH = 1.8
"""How far unseen outcomes count beyond the sampling distance, where values vary freely."""
ENOUGH = 10.0
"""From so many values on; with fewer it counts more, and soon in full."""


@dataclass(frozen=True, slots=True)
class Limits:
    """A value with its confidence limits; both are None where there is no honest interval, and a note says why."""

    value: float
    low: float | None
    high: float | None
    method: str
    note: str = ""

    @property
    def ends(self) -> tuple[float, float]:
        """Both limits, where there surely are some: of counts, and of two values or more between bounds."""
        assert self.low is not None and self.high is not None, self.note
        return self.low, self.high


@dataclass(frozen=True, slots=True)
class Combination:
    """Sum of coefficient times group mean: can be asked for its limits at any level."""

    groups: tuple[Group, ...]
    coefficients: tuple[float, ...]
    unit: str = "match"
    method: str = "bounded t"
    note: str = ""
    df: float | None = None
    """Degrees of freedom, where the groups share one estimate of their variance."""
    offset: float = 0.0
    """What is known exactly and added."""
    doubt: str = ""
    """Why no bound can be guaranteed: its units are not independent, or weigh by what happened in them."""

    @property
    def value(self) -> float:
        """The estimate; what is no more than the rounding of its terms is 0."""
        parts = [self.offset, *(a * g.mean for a, g in zip(self.coefficients, self.groups, strict=True))]
        return _plain(math.fsum(parts), math.fsum(map(abs, parts)))

    def limits(self, level: float = 0.95) -> Limits:
        """The value with its interval."""
        checked_level(level)
        problem = self._problem()
        if problem:
            return Limits(self.value, None, None, "none", problem)
        down, up = self._reach(level)
        value = self.value
        least, most = self.bounds()
        low, high = (without_rounding(end, down + up) for end in (value - down, value + up))
        return Limits(value, max(low, least), min(high, most), self.method, self.note)

    def larger(self, times: float) -> "Combination":
        """The same value from so many times as many units: what a larger study would see if nothing else changed."""
        groups = [
            replace(
                g, count=round(g.count * times), n=g.n * times, variance=g.variance / times, other=g.other * times,
                successes=None if g.successes is None else round(g.successes * times),
            )
            for g in self.groups
        ]  # fmt: skip
        return replace(self, groups=tuple(groups), df=None if self.df is None else self.df * times)

    def guaranteed(self, level: float = 0.95) -> Limits:
        """The value with bounds that hold for every distribution between the bounds of the values (``betting``).

        Each end is wrong with a chance of at most (1 - level) / 2, also where it is looked at again after more units.
        """
        checked_level(level)
        if self.why_approximate:
            return Limits(self.value, None, None, "none", self.why_approximate)
        values, weights = self._stakes()
        least, most = self.bounds()
        low, high = (lower_bound(of, weights, (1 - level) / 2) for of in (values, 1 - values))
        ends = least + (most - least) * low, most - (most - least) * high
        return Limits(self.value, min(ends[0], self.value), max(ends[1], self.value), "betting", self.note)

    def surely_within(self, low: float, high: float, level: float = 0.95) -> bool:
        """Whether the guaranteed bounds lie in a range."""
        values, weights = self._stakes()
        least, most = self.bounds()
        ends = ((low - least) / (most - least), (most - high) / (most - least))
        sides = zip((values, 1 - values), ends, strict=True)
        return all(exceeds(of, weights, end, (1 - level) / 2) for of, end in sides)

    def multiple_for(self, low: float, high: float, level: float = 0.95) -> float:
        """How many times as many units guaranteed bounds need, at best, to show that the value lies in a range."""
        least, most = self.bounds()
        if self.why_approximate or most <= least:
            return 0.0
        span = most - least
        ends = (low - least) / span, (high - least) / span
        return least_multiple(self._stakes()[1], *ends, (1 - level) / 2)

    def likely_multiple_for(self, low: float, high: float, level: float = 0.95) -> float:
        """How many times as many units like those seen show that the value lies in a range; inf where none would.

        By guaranteed bounds, or by ``limits`` where there are none.
        """
        if not self.why_approximate:
            values, weights = self._stakes()
            least, most = self.bounds()
            span = most - least
            ends = (low - least) / span, (high - least) / span
            return likely_multiple(values, weights, *ends, (1 - level) / 2)

        def shown(times: float) -> bool:
            ends = self.larger(times).limits(level)
            return ends.low is not None and ends.high is not None and low <= ends.low and ends.high <= high

        below, enough = 0.0, 1.0
        while not shown(enough):
            below, enough = enough, 2 * enough
            if enough > MOST_TIMES:
                return math.inf
        while enough - below > 0.01 * enough:
            middle = (below + enough) / 2
            below, enough = (below, middle) if shown(middle) else (middle, enough)
        return enough

    @property
    def why_approximate(self) -> str:
        """Why there are no guaranteed bounds; empty where there are."""
        if any(g.low is None or g.high is None for g in self.groups):
            return "the measure has no declared bounds"
        return self.doubt

    def _stakes(self) -> tuple[Floats, Floats]:
        """All units as values from 0 to 1, of which the combination is a weighted mean, and the weights."""
        values, weights = [], []
        for a, g in zip(self.coefficients, self.groups, strict=True):
            if a and g.low is not None and g.high is not None:
                share = (g.units - g.low) / (g.high - g.low)
                values.append(share if a > 0 else 1 - share)
                weights.append(abs(a) * (g.high - g.low) * g.shares)
        mass = np.concatenate(weights)
        return np.clip(np.concatenate(values), 0.0, 1.0), mass / math.fsum(mass)

    def _problem(self) -> str:
        units = {"match": "matches"}.get(self.unit, f"{self.unit}s")
        for group in self.groups:
            if group.count < 2 and self.df is None and group.successes is None:
                return f"too few {units}: {group.count} says nothing about the spread"
            if group.alike and (group.low is None or group.high is None):
                return f"all {group.count} {units} are alike and the measure has no bounds: the spread is not known"
            if self.df is None and group.df < 0.5 and (group.low is None or group.high is None):
                return f"too few {units}: one of them has nearly all the weight"
        return ""

    def bounds(self) -> tuple[float, float]:
        """The least and the largest value that it can have; infinite where the values have no bound."""
        ends: tuple[list[float], list[float]] = ([self.offset], [self.offset])
        for a, g in zip(self.coefficients, self.groups, strict=True):
            if a:
                both = (
                    a * (-math.inf if g.low is None else g.low),
                    a * (math.inf if g.high is None else g.high),
                )
                ends[0].append(min(both))
                ends[1].append(max(both))
        least, most = (_plain(math.fsum(of), math.fsum(map(abs, of))) for of in ends)
        return least, most

    @staticmethod
    def _welch(parts: Sequence[float], used: Sequence[tuple[float, Group]]) -> float:
        """Degrees of freedom of a sum of variances (Satterthwaite 1946, Welch 1947)."""
        shares = math.fsum(p * p / g.df for p, (_, g) in zip(parts, used, strict=True) if p)
        return math.fsum(parts) ** 2 / shares

    def _reach(self, level: float) -> tuple[float, float]:
        """How far the limits are from the value: downwards and upwards."""
        terms = [(a, g) for a, g in zip(self.coefficients, self.groups, strict=True) if a]
        if len(terms) == 1 and terms[0][1].successes is not None:
            return _counted(*terms[0], level)
        parts = [a * a * g.variance for a, g in terms]
        total = math.fsum(parts)
        t = 0.0
        if total > 0:
            t = t_quantile(0.5 + level / 2, max(self.df or self._welch(parts, terms), 0.1))
        worth, many = _worth(terms)
        if self.df is not None:
            many = math.fsum(g.n for _, g in terms)
        reach, few = REACH / math.sqrt(worth), max(1.0, ENOUGH / many)
        unseen = [_unseen(g, t, level, reach, few) for _, g in terms]
        raised, lowered = (
            _sampling([(abs(a), g) for a, g in terms if a * sign > 0], t, level, scaled=self.df is None)
            for sign in (1, -1)
        )
        distances = []
        for side in (0, 1):
            missed = _joint(
                [
                    (abs(a) * both[side if a > 0 else 1 - side], g.n)
                    for (a, g), both in zip(terms, unseen, strict=True)
                ],
                level,
            )
            distances.append(math.hypot(raised[side], lowered[1 - side], missed))
        return distances[0], distances[1]


def _plain(value: float, scale: float) -> float:
    """The number that a sum of terms as large as ``scale`` would be without rounding: 0, or one of few digits.

    >>> _plain(0.9999999999999998, 1.0), _plain(1 / 3, 1.0)
    (1.0, 0.3333333333333333)
    """
    if not math.isfinite(value):
        return value
    near = float(f"{value:.12g}")
    return without_rounding(near if abs(near - value) <= 4 * EPSILON * scale else value, scale)


def _counted(a: float, group: Group, level: float) -> tuple[float, float]:
    """The exact distances of a share of all-or-nothing values."""
    low, high = exact_share(group.successes or 0, group.count, level)
    below, above = group.room
    width = below + above
    down, up = below - low * width, high * width - below
    return (a * down, a * up) if a > 0 else (-a * up, -a * down)


def _sampling(
    parts: Sequence[tuple[float, Group]], t: float, level: float, *, scaled: bool
) -> tuple[float, float]:
    """Student's distance below and above a sum of means with positive weights; 0 for no mean at all."""
    if not parts:
        return 0.0, 0.0
    square = t * t * math.fsum(w * w * g.variance for w, g in parts)
    below, above = (math.fsum(w * g.room[side] for w, g in parts) for side in (0, 1))
    down, up = _bent(square, below, above) if scaled else (math.sqrt(square),) * 2
    back = [(w * d, w * u) for w, g in parts for d, u in [_back(g, level)]]
    return max(down, math.hypot(*(d for d, _ in back))), max(up, math.hypot(*(u for _, u in back)))


def _bent(square: float, below: float, above: float) -> tuple[float, float]:
    """Both distances where the variance shrinks in proportion as the mean nears a bound (Wilson 1927)."""
    if (math.isinf(below) and math.isinf(above)) or min(below, above) <= 0:
        return math.sqrt(square), math.sqrt(square)
    if math.isinf(below) or math.isinf(above):
        bend = square / min(below, above)
        near, far = ((math.sqrt(bend * bend + 4 * square) + s * bend) / 2 for s in (-1, 1))
        return (near, far) if below < above else (far, near)
    share = square / (below * above)
    centre = share * (above - below) / 2 / (1 + share)
    half = math.sqrt(square + (share * (below + above) / 2) ** 2) / (1 + share)
    return half - centre, half + centre


def _back(group: Group, level: float) -> tuple[float, float]:
    """How far the mean may lie towards the common value, where a few others moved it away from there.

    Their true share may be much smaller than the one seen.
    """
    if not 0 < group.other < group.n / 2 * (1 - ALIKE):  # exactly half is no pile, however it is rounded
        return 0.0, 0.0
    share = gamma_quantile(1 - level, group.other) / group.other
    back = abs(group.mean - group.common) * max(
        0.0, 1 - share
    )  # at low levels the quantile exceeds what was seen
    return (back, 0.0) if group.common < group.mean else (0.0, back)


def _unseen(group: Group, t: float, level: float, reach: float, few: float) -> tuple[float, float]:
    """How far outcomes that did not occur could move the mean of this group alone: down and up."""
    sampled = t * math.sqrt(group.variance)
    below, above = group.room
    if math.isinf(below) or math.isinf(above):
        down, up = (reach * min(few, 2.0) * weight * sampled for weight in _tail(group))
        return down, up
    chance = _chance(group.n, level)
    position = below / (below + above)
    # A mean near one bound may hide a long tail towards the other: widen, and more so with few values.
    reach *= few ** (2 * abs(2 * position - 1))
    down, up = (
        max(chance * room * group.piled, min(chance * room, reach * weight * sampled))
        for room, weight in ((below, position), (above, 1 - position))
    )
    return down, up


def _tail(group: Group) -> tuple[float, float]:
    """Where the long tail of a group without two bounds is: away from its bound, or where it leans."""
    if group.low is not None:
        return 0.0, 1.0
    if group.high is not None:
        return 1.0, 0.0
    up = 0.5 + 0.5 * math.tanh(group.skewness)
    return 1 - up, up


def _worth(used: Sequence[tuple[float, Group]]) -> tuple[float, float]:
    """How many equally weighty groups the combination is worth, as their tails cancel out; and how many values."""
    weights = [a * a / g.n for a, g in used]
    total = math.fsum(weights)
    worth = total**2 / math.fsum(w * w for w in weights)
    return worth, worth * math.fsum(w * g.n for w, (_, g) in zip(weights, used, strict=True)) / total


def _joint(parts: Sequence[tuple[float, float]], level: float) -> float:
    """The largest shift by unseen outcomes in all groups together.

    Each part is (shift at its own limit, n). The chances x maximise the sum of shifts where the chance of
    having seen none of them, the product of (1 - x)^n, is still what the level allows.
    """
    allowed = -math.log((1 - level) / 2)
    rates = sorted(((shift / _chance(n, level) / n, n) for shift, n in parts if shift > 0), reverse=True)
    best = logs = mass = 0.0
    for index, (rate, n) in enumerate(rates):
        logs, mass = logs + n * math.log(rate), mass + n
        price = math.exp((logs - allowed) / mass)
        if index + 1 == len(rates) or price >= rates[index + 1][0]:
            best = math.fsum(r * k * max(0.0, 1 - price / r) for r, k in rates[: index + 1])
            break
    return best


def _chance(n: float, level: float) -> float:
    """The largest chance of an outcome that did not occur in n units."""
    return -math.expm1(math.log((1 - level) / 2) / n)
