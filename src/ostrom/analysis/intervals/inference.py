"""A figure with two intervals: a classical one with a name, and bounds valid for every distribution.

A figure is a value and the influence of every independent unit on it (for a mean, the deviation from it over n). The
variance is the sum of the squared influences times n / (n - 1), by condition; the interval is Student's t with
Satterthwaite's degrees of freedom. For a mean that is the one-sample t, for a difference of other units Welch's, for a
difference of the same units the paired t, for weighted values the linearised ratio (the jackknife where chance decides
about weights too). Units are the same where their labels are: ``combined`` adds their influences, so nothing else
decides what pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

import numpy as np

from ostrom.analysis.intervals import binary
from ostrom.analysis.intervals.betting import Bet
from ostrom.analysis.statistics.samples import Floats, checked_level, without_rounding
from ostrom.ground.words import PLURALS

ALIKE = 1e-9
"""Influences below this share of the largest value are rounding errors: the units are alike."""
UNEVEN = 1.5
"""The ratio of group sizes from which a permutation test enters the p-value."""
ARRANGEMENTS = 4999
FEW = 5
SKEWED, MOST_SKEWED = 1.5, 0.3
"""Influences are skewed from a skewness of max(1.5, 0.3 sqrt n) on. From 1.2 on, tame ratios had a note too often."""


@dataclass(frozen=True, slots=True)
class Part:
    """The independent units of one condition, with the influence of each on the figure."""

    influence: Floats
    labels: tuple[Hashable, ...] | None = None
    condition: Hashable = None
    share: float = 1.0
    """The weight of the condition's mean in the figure: negative on the second side of a difference."""
    mean: float = 0.0
    centred: int = 1
    """The number of means from which the influences are deviations."""
    df: float | None = None
    """Degrees of freedom, where they are not n - centred."""
    piled: bool = False
    """Whether many values lie at or near one bound of their range."""

    @property
    def n(self) -> int:
        """How many units."""
        return int(self.influence.size)

    @property
    def values(self) -> Floats:
        """Return the values of equally weighted units."""
        return self.mean + self.influence * self.n / self.share

    def variance(self, times: float = 1.0) -> tuple[float, float]:
        """The variance of the condition's share of the figure, and its degrees of freedom, with ``times`` as many
        units."""
        n = self.n
        return float(self.influence @ self.influence) * n / (n - self.centred) / times, (
            float(n - self.centred) if self.df is None else self.df
        ) + (times - 1) * n


@dataclass(frozen=True, slots=True)
class Limits:
    """A value with its interval; both ends are None if there is none, and a note says why."""

    value: float
    low: float | None
    high: float | None
    method: str
    note: str = ""

    @property
    def both(self) -> tuple[float, float]:
        """Return both ends of an interval that is known to exist."""
        assert self.low is not None and self.high is not None, self.note
        return self.low, self.high


@dataclass(frozen=True)
class Inference:
    """A figure whose interval can be computed at any level."""

    value: float
    parts: tuple[Part, ...] = ()
    bets: tuple[Bet, ...] = ()
    """The bets behind the guaranteed bounds; the error chances of several add up; empty without bounds."""
    unit: str = "match"
    method: str = "exact"
    note: str = ""
    doubt: str = ""
    """The reason why there are no guaranteed bounds."""
    least: float = -math.inf
    most: float = math.inf
    counts: tuple[binary.Count, ...] = ()
    """For a binary measure: successes and units of each side, or the discordant pairs."""
    arrangements: float | None = None
    """For a slope: the number of ways to assign its values to the levels."""
    problem: str = ""
    """The reason why there is no classical interval, if it lies in the shape of the query."""
    _spread: dict[float, tuple[float, float] | None] = field(default_factory=dict, repr=False, compare=False)
    _bounds: dict[float, tuple[float, float] | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def exact(self) -> bool:
        """Return whether the figure has no sampling error."""
        return not self.parts

    @property
    def units(self) -> int:
        """Return the number of independent units."""
        return sum(part.n for part in self.parts)

    @cached_property
    def sides(self) -> tuple[int, ...]:
        """Return the number of units of each side."""
        counts = [sum(p.n for p in self.parts if p.share * sign > 0) for sign in (1, -1)]
        return tuple(n for n in counts if n)

    @cached_property
    def alike(self) -> bool:
        """Return whether two or more units show no spread at all."""
        return bool(self.parts) and self.units > 1 and not any(part.influence.any() for part in self.parts)

    def spread(self, times: float = 1.0) -> tuple[float, float] | None:
        """Return the standard error and its degrees of freedom; None if the spread is unknown."""
        if times not in self._spread:
            self._spread[times] = self._measured(times)
        return self._spread[times]

    def _measured(self, times: float) -> tuple[float, float] | None:
        free = [part for part in self.parts if part.n > part.centred]
        single = [part for part in self.parts if part.n <= part.centred]
        if self.problem or self.alike or not free:
            return None
        terms = [part.variance(times) for part in free]
        if single:  # conditions with one unit use the variance within the others
            freedom = sum(part.n - part.centred for part in free)
            squares = math.fsum(float(np.sum((part.values - part.mean) ** 2)) for part in free)
            share = math.fsum(part.share**2 for part in single)
            terms.append((share * squares / freedom / times, freedom + (times - 1) * self.units))
        total = math.fsum(variance for variance, _ in terms)
        return None if total <= 0 else (math.sqrt(total), total**2 / math.fsum(v * v / df for v, df in terms if v))

    def reach(self, level: float, times: float = 1.0) -> tuple[float, float] | None:
        """Return the classical interval before clipping to the range; None if there is none."""
        if self.exact:
            return self.value, self.value
        if self.counts:
            return binary.limits(self.counts, level, times)
        spread = self.spread(times)
        if spread is None:
            return None
        from scipy.special import stdtrit

        far = float(stdtrit(spread[1], 0.5 + level / 2)) * spread[0]
        return self.value - far, self.value + far

    def limits(self, level: float = 0.95) -> Limits:
        """Return the value with its classical interval."""
        ends = self.reach(checked_level(level))
        if ends is None:
            return Limits(
                self.value, None, None, self.problem if self.problem.startswith("exact") else "none",
                "; ".join(filter(None, (self._why_none(), self.note))),
            )  # fmt: skip
        inside = [min(max(end, self.least), self.most) for end in ends]
        clipped = [
            name for name, end, limit in zip(("lower", "upper"), ends, inside, strict=True)
            if abs(end - limit) > ALIKE * max(1.0, abs(end))
        ]  # fmt: skip
        cut = (
            f"the {' and '.join(clipped)} end {'lies' if len(clipped) == 1 else 'lie'} beyond the range"
            if clipped
            else ""
        )
        notes = (*self.cautions(), cut, self.note)
        low, high = (without_rounding(end, abs(ends[1] - ends[0])) for end in inside)
        return Limits(self.value, low, high, self.method, "; ".join(filter(None, notes)))

    def _why_none(self) -> str:
        units = PLURALS.get(self.unit, f"{self.unit}s")
        few = f"too few {units}: one says nothing about the spread"
        return self.problem or (f"all {self.units} alike" if self.alike else few)

    def bounds(self, level: float = 0.95) -> tuple[float, float] | None:
        """Bounds that hold for every distribution, at any number of units; each end is wrong with a chance of at most
        (1 - level) / 2."""
        if level not in self._bounds:
            self._bounds[level] = self._bounded(checked_level(level))
        return self._bounds[level]

    def _bounded(self, level: float) -> tuple[float, float] | None:
        if self.exact or self.why_approximate:
            return (self.value, self.value) if self.exact else None
        ends = [bet.bounds((1 - level) / 2 / len(self.bets)) for bet in self.bets]
        fixed = self.least - math.fsum(bet.least for bet in self.bets)
        low, high = (fixed + math.fsum(end) for end in zip(*ends, strict=True))
        return min(low, self.value), max(high, self.value)

    def guaranteed(self, level: float = 0.95) -> Limits:
        """Return the value with its guaranteed bounds as interval."""
        ends = self.bounds(level)
        return (
            Limits(self.value, None, None, "none", self.why_approximate)
            if ends is None
            else Limits(self.value, *ends, "exact" if self.exact else "betting", self.note)
        )

    @property
    def why_approximate(self) -> str:
        """Return why there are no guaranteed bounds; empty if there are."""
        return "" if self.exact or self.bets else self.doubt or "the measure has no declared bounds"

    def _shifted(self, low: float, high: float) -> tuple[float, float]:
        """Convert a range of the figure to one of its bet."""
        fixed = self.least - self.bets[0].least
        return low - fixed, high - fixed

    def surely_within(self, low: float, high: float, level: float = 0.95) -> bool:
        """Whether the guaranteed bounds lie in a range."""
        if len(self.bets) == 1:
            return self.bets[0].surely_within(*self._shifted(low, high), (1 - level) / 2)
        ends = self.bounds(level)
        return ends is not None and low <= ends[0] and ends[1] <= high

    def multiple_for(self, low: float, high: float, level: float = 0.95) -> float:
        """Return by which factor units must grow, at best, for guaranteed bounds within a range."""
        one = len(self.bets) == 1
        return self.bets[0].least_multiple(*self._shifted(low, high), (1 - level) / 2) if one else 0.0

    def likely_multiple_for(self, low: float, high: float, level: float = 0.95) -> float:
        """Return by which factor units like those seen must grow for guaranteed bounds within a range.

        Inf where none would; by the classical interval where there are no bounds.
        """
        if len(self.bets) == 1:
            return self.bets[0].likely_multiple(*self._shifted(low, high), (1 - level) / 2)
        return self.smallest_multiple(lambda ends: low <= ends[0] and ends[1] <= high, level, 1e6)

    def smallest_multiple(self, decided: Callable[[tuple[float, float]], bool], level: float, most: float) -> float:
        """Return the smallest growth, 1 or more, with which units like these decide, or inf beyond ``most``."""

        def reached(times: float) -> bool:
            ends = self.reach(level, times)
            return ends is not None and decided(ends)

        below = enough = 1.0  # fewer units than there are would have no degrees of freedom
        while not reached(enough):
            below, enough = enough, 2 * enough
            if below >= most:
                return math.inf
        while enough - below > 0.01 * enough:
            middle = (below + enough) / 2
            below, enough = (below, middle) if reached(middle) else (middle, enough)
        return enough

    def p_value(self, threshold: float = 0.0) -> float | None:
        """Return the p-value against a threshold, by the interval or an exact test; None if there is none.

        Where two sides have very different sizes it is the larger of Welch's and that of the studentised permutation
        test (Janssen 1997; Chung & Romano 2013).
        """
        off = without_rounding(self.value - threshold, abs(self.value) + abs(threshold))
        if self.exact:
            return float(off == 0)
        if self.problem:
            return None
        if self.counts:
            return binary.p_value(self.counts, threshold)
        if self.alike:
            return 1.0 if off == 0 else self._arranged(threshold)
        spread = self.spread()
        if spread is None:
            return None
        from scipy.special import stdtr

        p = float(2 * stdtr(spread[1], -abs(off) / spread[0]))
        return max(p, self.rearranged) if threshold == 0 and self.uneven else p

    def _arranged(self, threshold: float) -> float:
        """Return the exact p-value for identical units: by sign changes, or by exchanging labels of two sides."""
        if self.arrangements is not None:
            return min(1.0, 2 / self.arrangements)
        if len(self.sides) == 1 or threshold:
            offs = [part.share * part.mean for part in self.parts]
            if any(off * (self.value - threshold) < 0 for off in offs) and len(offs) > 1:
                return 1.0
            return min(1.0, 2.0 ** (1 - self.units))
        ways = 1.0
        for one, two in self._pairs():
            if one.mean != two.mean:
                if (one.mean - two.mean) * self.value < 0:
                    return 1.0
                ways *= math.comb(one.n + two.n, one.n)
        return min(1.0, 2 / ways)

    def _pairs(self) -> Iterator[tuple[Part, Part]]:
        """Yield the conditions in which both sides have units."""
        other = {part.condition: part for part in self.parts if part.share < 0}
        for part in self.parts:
            if part.share > 0 and part.condition in other:
                yield part, other[part.condition]

    @cached_property
    def uneven(self) -> bool:
        """Return whether two sides without common units differ in size by a factor of 1.5 or more."""
        return len(self.sides) == 2 and max(self.sides) >= UNEVEN * min(self.sides)

    @cached_property
    def rearranged(self) -> float:
        """Return the p-value of the studentised permutation test: labels are exchanged within conditions."""
        both = list(self._pairs())
        if not both or any(part.centred != 1 for pair in both for part in pair):
            return 0.0
        rng = np.random.default_rng(len(both))
        off, square = np.zeros(ARRANGEMENTS + 1), np.zeros(ARRANGEMENTS + 1)
        for one, two in both:
            pool = np.concatenate([one.values, two.values])
            pool = np.round(pool - pool.mean(), 12)
            drawn = rng.permuted(np.tile(pool, (ARRANGEMENTS + 1, 1)), axis=1)
            drawn[0] = pool
            for part, of in ((one, drawn[:, : one.n]), (two, drawn[:, one.n :])):
                off += part.share * of.mean(axis=1)
                if part.n > 1:
                    square += part.share**2 * of.var(axis=1, ddof=1) / part.n
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(off == 0, 0.0, np.abs(off) / np.sqrt(square))
        return float(np.mean(t >= t[0] * (1 - 1e-9)))

    @property
    def decides(self) -> bool:
        """Return whether there are enough units for a YES: two units are shown but never decide."""
        return self.exact or min(self.sides, default=0) > 2

    def cautions(self) -> list[str]:
        """Return warnings where the classical interval is known to be unreliable."""
        if self.exact or self.counts:
            return []
        notes = []
        if (fewest := min(self.sides)) < FEW:
            notes.append(f"caution: {fewest} {PLURALS.get(self.unit, self.unit + 's')}")
        squares = math.fsum(float(part.influence @ part.influence) for part in self.parts)
        cubes = math.fsum(float(np.sum(part.influence**3)) for part in self.parts)
        skewed = squares > 0 and abs(cubes) > max(SKEWED / math.sqrt(self.units), MOST_SKEWED) * squares**1.5
        if skewed or mostly_piled(self.parts):
            notes.append("caution: values are skewed or lie near a bound, the bounds say more")
        ends = self.reach(0.95) if self.uneven and not self.arrangements else None
        # The p-value is at least Welch's: if the interval contains 0, no permutation is needed.
        if ends is not None and (ends[0] > 0 or ends[1] < 0) and (self.p_value() or 0.0) >= 0.05:
            notes.append("caution: the sides differ in size, and the permutation test does not exclude 0")
        one_sided = len(self.sides) == 2 and any(
            not any(p.influence.any() for p in self.parts if p.share * sign > 0) for sign in (1, -1)
        )
        return [*notes, *(["one side is all alike"] if one_sided else [])]

    def times(self, factor: float) -> Inference:
        """Return a multiple of the figure."""
        return combined([(factor, self)], replace_method=self.method)


def mostly_piled(parts: Sequence[Part]) -> bool:
    """Return whether conditions with half of the weight pile up at a bound; a small one often does by chance."""
    piled, total = (math.fsum(abs(part.share) for part in of) for of in ([p for p in parts if p.piled], parts))
    return piled > 0 and piled >= 0.5 * total * (1 - ALIKE)


def combined(terms: Sequence[tuple[float, Inference]], *, replace_method: str = "") -> Inference:
    """Return the sum of coefficient times figure: a difference, an interaction, or a mean over conditions.

    Units with the same label in several figures are one unit. Without common units the figures are independent.
    """
    terms = [(a, one) for a, one in terms if a]
    sums = [a * one.value for a, one in terms]
    value = rounded_sum(math.fsum(sums), math.fsum(map(abs, sums)))
    owned = [{label for part in one.parts for label in part.labels or ()} for _, one in terms]
    common = len(set().union(*owned)) < sum(map(len, owned))
    parts: tuple[Part, ...] = tuple(
        replace(part, influence=a * part.influence, share=a * part.share) for a, one in terms for part in one.parts
    )
    if common:
        parts = (merged(parts, max(sum(part.centred for part in one.parts) for _, one in terms)),)
    bets = _bets(terms)
    ends = [sorted((a * one.least, a * one.most)) for a, one in terms]
    least, most = (rounded_sum(math.fsum(end), math.fsum(map(abs, end))) for end in zip(*ends, strict=True))
    notes = dict.fromkeys(note for _, one in terms for note in one.note.split("; ") if note)
    drawn = [one for _, one in terms if not one.exact]
    method = replace_method or ("exact" if not parts else _named(drawn, common))
    return Inference(
        value, parts, bets, terms[0][1].unit, method, "; ".join(notes),
        next((one.doubt for one in drawn if one.doubt), ""), least, most,
        _counted(terms, common),
        drawn[0].arrangements if len(drawn) == 1 else None,
        next((one.problem for one in drawn if one.problem), ""),
    )  # fmt: skip


def _counted(terms: Sequence[tuple[float, Inference]], common: bool) -> tuple[binary.Count, ...]:
    """Return the counts of a share, or of a difference of shares; empty for other sums."""
    counts = [one.counts for _, one in terms]
    if len(terms) == 1:
        return counts[0] if terms[0][0] == 1 else ()
    if [a for a, _ in terms] != [1, -1] or any(len(of) != 1 or len(of[0]) != 2 for of in counts):
        return ()
    if not common:
        return counts[0][0], counts[1][0]
    sides = [dict(zip(one.parts[0].labels or (), one.parts[0].values.tolist(), strict=True)) for _, one in terms]
    both = [(sides[0][label], sides[1][label]) for label in sides[0] if label in sides[1]]
    odd = [one > two for one, two in both if abs(one - two) > 0.5]
    return ((sum(odd), len(both), len(odd)),) if sides[0].keys() == sides[1].keys() else ()


def _named(drawn: Sequence[Inference], common: bool) -> str:
    if len(drawn) == 1:
        return drawn[0].method
    words = ("over conditions", "pooled", "over clusters", "jackknife")
    first = "paired t" if common else "Welch's t"
    return ", ".join([first, *(word for word in words if any(word in one.method for one in drawn))])


def merged(parts: Sequence[Part], centred: int) -> Part:
    """Merge the units of several parts; the influences of a unit are added up."""
    total: dict[Hashable, float] = {}
    size = 0.0
    for number, part in enumerate(parts):
        for at, pull in enumerate(part.influence.tolist()):
            label = (number, at) if part.labels is None else part.labels[at]
            total[label] = total.get(label, 0.0) + pull
            size = max(size, abs(pull))
    influence = np.array(list(total.values()))
    influence[np.abs(influence) <= ALIKE * size] = 0.0
    mean = math.fsum(part.share * part.mean for part in parts)
    fewest = min((part.df for part in parts if part.df is not None), default=None)  # where units have different weights
    return Part(influence, tuple(total), mean=mean, centred=min(centred, influence.size - 1) or 1, df=fewest)


def _bets(terms: Sequence[tuple[float, Inference]]) -> tuple[Bet, ...]:
    """Return one bet on the sum if units are identical or disjoint; else one for each figure."""
    drawn = [(a, one) for a, one in terms if not one.exact]
    if any(not one.bets for _, one in drawn):
        return ()
    every = [bet.times(a) for a, one in drawn for bet in one.bets]
    joint = reduce(lambda one, bet: one and one.joined(bet), every[1:], every[0] if every else None)
    return tuple(every) if joint is None else (joint,)


def rounded_sum(value: float, scale: float) -> float:
    """Return a sum of terms as large as ``scale`` without its rounding error: 0, or a number of few digits.

    >>> rounded_sum(0.9999999999999998, 1.0), rounded_sum(1 / 3, 1.0)
    (1.0, 0.3333333333333333)
    """
    if not math.isfinite(value):
        return value
    near = float(f"{value:.12g}")
    return without_rounding(near if abs(near - value) <= 4 * 2.0**-52 * scale else value, scale)
