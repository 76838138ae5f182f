"""Power by simulation: values are drawn as a design would give them, and the declared analysis is made of them.

The analysis is the one of ``ostrom.analysis.estimate``: the same pairs, the same conditions, the same interval. Only
the values are made up, from a mean, a spread and a correlation of partners that are stated or were seen in a pilot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ostrom.analysis.estimate import Estimate, estimated
from ostrom.analysis.intervals import Bounds, Limits, share_of
from ostrom.analysis.pairing import TwoSides
from ostrom.analysis.statistics.samples import Floats
from ostrom.ground.errors import UsageError
from ostrom.ground.streams import key_of

STEPS = 4096
"""Quantiles by which a distribution is drawn; they are rounded, so that the last bits of a machine decide nothing."""
FULL = 0.9999
"""The largest share of the greatest possible variance between two bounds: all or nothing."""


@dataclass(frozen=True)
class Assumed:
    """What values are drawn from."""

    baseline: float
    """The mean at the second level of the contrast."""
    sd: float
    """Between matches of one condition, at the baseline."""
    correlation: float = 0.0
    """Of partners, which share a seed."""
    conditions: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    """The baseline of single conditions, where a pilot has them."""
    share: float | None = None
    """The spread as a share of the largest variance between two bounds; None where the sd says it."""

    @property
    def words(self) -> str:
        """What is assumed, in one line."""
        return (
            f"baseline {self.baseline:.4g}, sd between matches {self.sd:.4g}, "
            f"correlation of pairs {self.correlation:.2g}"
        )


@dataclass(frozen=True)
class SeedLayout:
    """What one seed adds to both sides of a comparison."""

    comparison: TwoSides
    """Of a single seed, or of as few seeds as pair."""
    conditions: tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]
    """The condition of every value that one seed adds, by side."""
    sizes: tuple[tuple[int, ...], tuple[int, ...]]
    """How many matches every value is the mean of."""

    @property
    def paired(self) -> bool:
        """Whether the sides pair."""
        return self.comparison.pairs is not None

    def of(self, seeds: int, first: Sequence[float], second: Sequence[float]) -> TwoSides:
        """The comparison of so many seeds."""
        strata: Any = None
        names: tuple[Sequence[Any], Sequence[Any]] = ((), ())
        if self.paired:
            codes = {key: code for code, key in enumerate(dict.fromkeys(self.conditions[0]))}
            strata = np.tile([codes[key] for key in self.conditions[0]], seeds)
        else:
            names = (range(len(first)), range(len(first), len(first) + len(second)))
        known = self.comparison
        pairs = [()] * len(first) if self.paired else None
        return TwoSides(
            first, second, pairs, ((), ()), names, strata, known.certain, known.bounds, known.unit, known.note
        )


def quantile_table(mean: float, spread: float, bounds: Bounds) -> Floats:
    """Equally likely values with a mean.

    ``spread`` is the share of the largest variance where there are two bounds, the coefficient of variation above a
    lower bound, and the standard deviation elsewhere.

    >>> table = quantile_table(0.9, 0.5, (0.0, 1.0))
    >>> round(float(table.mean()), 3), float(table.min()) >= 0, float(table.max()) <= 1
    (0.9, True, True)
    """
    from scipy import special

    low, high = bounds
    middle = (np.arange(STEPS) + 0.5) / STEPS
    table: Any
    if spread <= 0 or (low is not None and mean <= low) or (high is not None and mean >= high):
        return np.full(STEPS, mean, dtype=np.float64)
    if low is not None and high is not None:
        share = (mean - low) / (high - low)
        precision = 1 / min(spread, FULL) - 1
        table = low + (high - low) * special.betaincinv(share * precision, (1 - share) * precision, middle)
    elif low is not None:
        shape = 1 / spread**2
        table = low + special.gammaincinv(shape, middle) * (mean - low) / shape
    else:
        table = mean + spread * special.ndtri(middle)
    rounded: Floats = np.round(table, 9)
    return rounded


def spread_of(assumed: Assumed, bounds: Bounds) -> float:
    """The spread in the terms of ``quantile_table``; it stays the same where an effect moves the mean."""
    low, high = bounds
    if assumed.sd < 0 or not math.isfinite(assumed.sd):
        raise UsageError(f"the sd must be a number of at least 0 (found {assumed.sd:g})")
    for bound, sign in ((low, 1), (high, -1)):
        if bound is not None and sign * assumed.baseline < sign * bound:
            raise UsageError(f"baseline {assumed.baseline:g}: lies beyond the bound {bound:g} of the measure")
    if low is not None and high is not None:
        most = (assumed.baseline - low) * (high - assumed.baseline)
        if assumed.sd**2 > most * (1 + 1e-9):
            raise UsageError(
                f"sd {assumed.sd:g}: is more than values between {low:g} and {high:g} with mean {assumed.baseline:g} "
                f"can have (at most {math.sqrt(most):.4g})"
            )
        if assumed.share is not None:
            return min(assumed.share, FULL)
        return 0.0 if most <= 0 else min(assumed.sd**2 / most, FULL)
    if low is not None:
        return assumed.sd / (assumed.baseline - low) if assumed.baseline > low else 0.0
    return assumed.sd


class Simulation:
    """Draws of one design under one true effect."""

    def __init__(self, design: SeedLayout, assumed: Assumed, effect: float) -> None:
        self.design, self.assumed, self.effect = design, assumed, effect
        bounds = design.comparison.bounds
        spread = spread_of(assumed, bounds)
        known: dict[tuple[float, bool], Floats] = {}
        self._tables: list[list[Floats]] = [[], []]
        for side, conditions in enumerate(design.conditions):
            for key in conditions:
                mean = assumed.conditions.get(key, assumed.baseline) + (effect if side == 0 else 0.0)
                if bounds[0] is not None:
                    mean = max(mean, bounds[0])
                if bounds[1] is not None:
                    mean = min(mean, bounds[1])
                sure = design.comparison.certain[side]
                if (mean, sure) not in known:
                    known[mean, sure] = quantile_table(mean, 0.0 if sure else spread, bounds)
                self._tables[side].append(known[mean, sure])

    @property
    def truth(self) -> float:
        """The true difference of the values that are drawn; effects end at the bounds of the measure."""
        one, two = (math.fsum(float(t.mean()) for t in tables) / len(tables) for tables in self._tables)
        return round(one - two, 6)

    def values(self, seeds: int, times: int, seed: int) -> tuple[Floats, Floats]:
        """Values of both sides, one row per simulated run; of fewer seeds they are the first ones of more."""
        made = []
        rng = np.random.default_rng(key_of(f"power {seed}"))
        per_side = [sum(sizes) for sizes in self.design.sizes]
        drawn: list[list[Floats]] = [[], []]
        for _ in range(seeds):
            shared = rng.random((times, per_side[0]))
            own = rng.random((times, per_side[1]))
            if self.design.paired and self.design.sizes[0] == self.design.sizes[1]:
                tied = rng.random((times, per_side[1])) < abs(self.assumed.correlation)
                own = np.where(tied, shared if self.assumed.correlation > 0 else 1 - shared, own)
            drawn[0].append(shared)
            drawn[1].append(own)
        for side in (0, 1):
            sizes = self.design.sizes[side]
            starts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(int)
            columns = []
            for uniform in drawn[side]:
                places = np.minimum((uniform * STEPS).astype(int), STEPS - 1)
                values = np.empty(uniform.shape)
                for start, size, table in zip(starts, sizes, self._tables[side], strict=True):
                    values[:, start : start + size] = table[places[:, start : start + size]]
                columns.append(np.add.reduceat(values, starts, axis=1) / np.asarray(sizes))
            made.append(np.concatenate(columns, axis=1))
        return made[0], made[1]

    def limits(self, seeds: int, times: int, seed: int, level: float) -> list[Limits]:
        """The interval of the declared contrast in every simulated run."""
        first, second = self.values(seeds, times, seed)
        of = self.design.of
        return [of(seeds, a, b).inference().limits(level) for a, b in zip(first, second, strict=True)]


def share(hits: int, of: int) -> Estimate:
    """A share of simulated runs with its Monte Carlo interval."""
    return estimated({}, share_of(hits, of, unit="run"), of, "run")


def excludes_zero(limits: Limits, side: float) -> bool:
    """Whether an interval lies wholly on one side of zero: above for a positive ``side``, below for a negative one."""
    if limits.low is None or limits.high is None:
        return False
    return limits.low > 1e-12 if side > 0 else limits.high < -1e-12


def inside(limits: Limits, margin: float) -> bool:
    """Whether an interval lies wholly within a margin around zero."""
    if limits.low is None or limits.high is None:
        return False
    return -margin - 1e-12 <= limits.low and limits.high <= margin + 1e-12
