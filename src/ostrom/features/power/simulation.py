"""Power by simulation: values are drawn for a design and analysed with the declared contrast.

The analysis is the one of ``ostrom.analysis.estimate``: the same pairs, the same conditions, the same interval. Only
the values are made up, from a mean, a spread and a correlation of partners that are stated or were seen in a pilot.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ostrom.analysis.estimate import Estimate, Query, estimated
from ostrom.analysis.intervals import Bounds, Inference, share_of
from ostrom.analysis.statistics.samples import Floats
from ostrom.analysis.unit_figures import UnitFigure, UnitSide, comparison
from ostrom.costs.measured import busy_seconds
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UsageError
from ostrom.ground.streams import key_of
from ostrom.ground.values import grouped
from ostrom.studies.design import condition_columns, condition_of, sides_of

STEPS = 4096
"""Quantiles by which a distribution is drawn; they are rounded, so that the last bits of a machine decide nothing."""
LEAST, NARROW = 1e-10, 1e-6
"""The smallest spread that is simulated, and the spread below which values are normally distributed."""
FULL = 0.9999
"""The largest spread, as a share of the greatest possible variance between two bounds."""


@dataclass(frozen=True)
class Assumed:
    """The assumptions that values are drawn from."""

    baseline: float
    """The mean at the second level of the contrast."""
    sd: float
    """The standard deviation between matches of one condition, at the baseline."""
    correlation: float = 0.0
    """The correlation of partners, which share a seed."""
    conditions: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    """The baseline of single conditions, where a pilot estimates them."""
    share: float | None = None
    """The spread as a share of the largest variance between two bounds; None if given as sd."""

    @property
    def words(self) -> str:
        """The assumptions in one line."""
        return (
            f"baseline {self.baseline:.4g}, sd between matches {self.sd:.4g}, "
            f"correlation of pairs {self.correlation:.2g}"
        )


@dataclass(frozen=True)
class SeedLayout:
    """The values that one seed adds to both sides of a comparison."""

    comparison: UnitFigure
    """The comparison for one or two seeds, with its bounds and known values."""
    conditions: tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]
    """The condition of every value that one seed adds, by side."""
    places: tuple[tuple[int, ...], tuple[int, ...]]
    """The independent unit of every value, numbered within the seed."""

    @property
    def paired(self) -> bool:
        """Return whether values of both sides share units."""
        return bool(set(self.places[0]) & set(self.places[1]))

    def comparison_with(self, seeds: int, first: Sequence[float], second: Sequence[float]) -> UnitFigure:
        """Return the comparison for a number of seeds with these values."""
        sides = []
        for a, values, conditions, places, sure in zip(
            (1.0, -1.0), (first, second), self.conditions, self.places, self.comparison.certain, strict=True
        ):
            labels = [(seed, place) for seed in range(seeds) for place in places]
            n = len(labels)
            sides.append((a, UnitSide(values, labels, conditions * seeds, [1.0] * n, [sure] * n)))
        return replace(self.comparison, sides=tuple(sides))


def quantile_table(mean: float, spread: float, bounds: Bounds) -> Floats:
    """Return equally likely values with this mean and spread, within bounds.

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
        if spread < NARROW:
            sd = math.sqrt(spread * share * (1 - share)) * (high - low)
            narrow: Floats = np.clip(mean + sd * special.ndtri(middle), low, high).astype(np.float64)
            return narrow
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
    """Return the spread as an argument of ``quantile_table``; it is constant when an effect moves the mean."""
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
    """Simulated values of one design under one true effect."""

    def __init__(self, design: SeedLayout, assumed: Assumed, effect: float) -> None:
        self.design, self.assumed, self.effect = design, assumed, effect
        low, high = bounds = design.comparison.bounds
        least, most = -math.inf if low is None else low, math.inf if high is None else high
        # Identical values are tested exactly and decide later than nearly identical ones, so some spread is assumed.
        spread = max(spread_of(assumed, bounds), LEAST)
        cache: dict[tuple[float, bool], Floats] = {}
        self._tables: list[list[Floats]] = [[], []]
        for side, conditions in enumerate(design.conditions):
            for key in conditions:
                mean = assumed.conditions.get(key, assumed.baseline) + (effect if side == 0 else 0.0)
                mean, sure = min(max(mean, least), most), design.comparison.certain[side]
                if (mean, sure) not in cache:
                    cache[mean, sure] = quantile_table(mean, 0.0 if sure else spread, bounds)
                self._tables[side].append(cache[mean, sure])

    @property
    def truth(self) -> float:
        """Return the true difference of the drawn values, with effects truncated at the bounds of the measure."""
        one, two = (math.fsum(float(t.mean()) for t in tables) / len(tables) for tables in self._tables)
        return round(one - two, 6)

    def values(self, seeds: int, times: int, seed: int) -> tuple[Floats, Floats]:
        """Return values of both sides, one row for each simulated run; fewer seeds give a prefix of more seeds."""
        rng = np.random.default_rng(key_of(f"power {seed}"))
        sizes = [len(of) for of in self.design.places]
        samples: list[list[Floats]] = [[], []]
        for _ in range(seeds):
            shared, own = (rng.random((times, size)) for size in sizes)
            if self.design.paired and sizes[0] == sizes[1]:
                own = np.where(
                    rng.random((times, sizes[1])) < abs(self.assumed.correlation),
                    shared if self.assumed.correlation > 0 else 1 - shared,
                    own,
                )
            for side, uniform in enumerate((shared, own)):
                places = np.minimum((uniform * STEPS).astype(int), STEPS - 1)
                samples[side].append(
                    np.stack([table[places[:, at]] for at, table in enumerate(self._tables[side])], axis=1)
                )
        return np.concatenate(samples[0], axis=1), np.concatenate(samples[1], axis=1)

    def inferences(self, seeds: int, times: int, seed: int) -> list[Inference]:
        """Return the declared contrast of every simulated run."""
        first, second = self.values(seeds, times, seed)
        return [self.design.comparison_with(seeds, a, b).inference() for a, b in zip(first, second, strict=True)]


def simulated_share(hits: int, of: int) -> Estimate:
    """A share of simulated runs with its Monte Carlo interval."""
    return estimated({}, share_of(hits, of, unit="run"), of, "run")


def says_yes(inference: Inference, side: float, level: float) -> bool:
    """Whether the word is YES, on one side of zero: above for a positive ``side``, below for a negative one."""
    p = inference.p_value()
    return p is not None and p < 1 - level and inference.decides and inference.value * side > 0


def inside(inference: Inference, margin: float, level: float) -> bool:
    """Return whether a gate ``within`` a margin passes, by guaranteed bounds or else by the interval."""
    if not inference.why_approximate:
        return inference.surely_within(-margin - 1e-12, margin + 1e-12, level)
    ends = inference.reach(level)
    return ends is not None and -margin - 1e-12 <= ends[0] and ends[1] <= margin + 1e-12


ENOUGH_PAIRS = 10
"""The fewest pairs beyond one per condition for which a pilot's correlation is used: two pairs always give 1."""


def assumed_from(pilot: RunData, query: Query) -> tuple[Assumed, str]:
    """Estimate baselines, spread and correlation from a pilot; return them with a description of the pilot."""
    observed = query.values(pilot)
    if not observed.rows:
        raise UsageError(
            f"{pilot.name}: no finished match that is asked for has a value of {query.measure_object.name}"
        )
    sides = sides_of(observed, query)
    contrast, columns = comparison(observed, *sides, query.pair[0], ()), condition_columns(observed, query, *sides)
    low, high = contrast.bounds
    values = [
        grouped((condition_of(unit.rows[0], columns), unit.value) for unit in side.units) for _, side in contrast.sides
    ]
    squares, freedom, room = 0.0, 0, 0.0
    for seen in (of for one, sure in zip(values, contrast.certain, strict=True) if not sure for of in one.values()):
        mean = math.fsum(seen) / len(seen)
        squares += math.fsum((x - mean) ** 2 for x in seen)
        freedom += len(seen) - 1
        if low is not None and high is not None:
            room += (len(seen) - 1) * (mean - low) * (high - mean)
    if freedom < (1 if any(contrast.certain) else 2) or squares <= 1e-12:
        raise UsageError(f"{pilot.name}: shows no spread between matches of one condition; state one with --sd")
    second = [x for seen in values[1].values() for x in seen]
    baseline = math.fsum(second) / len(second)
    conditions = {key: math.fsum(seen) / len(seen) for key, seen in values[1].items()}
    words = f"run {pilot.name}: {contrast.n} {'pairs' if contrast.paired else 'matches'}"
    assumed = Assumed(baseline, math.sqrt(squares / freedom), _correlation(contrast), conditions)
    if low is None or high is None or room <= 0:
        return assumed, words
    # The share of the largest possible variance is assumed constant when means differ.
    return at_share(replace(assumed, share=min(1.0, squares / room)), contrast.bounds), words


def at_share(assumed: Assumed, bounds: tuple[float | None, float | None]) -> Assumed:
    """The assumptions with ``sd`` computed from ``share`` at the baseline."""
    low, high = bounds
    if assumed.share is None or low is None or high is None:
        return assumed
    return replace(
        assumed, sd=math.sqrt(assumed.share * max(0.0, (assumed.baseline - low) * (high - assumed.baseline)))
    )


def stated_over(assumed: Assumed, stated: dict[str, Any], bounds: tuple[float | None, float | None]) -> Assumed:
    """Return a pilot's assumptions with stated values in place of estimated ones."""
    conditions = {} if "baseline" in stated else assumed.conditions
    return at_share(
        replace(assumed, conditions=conditions, share=None if "sd" in stated else assumed.share, **stated), bounds
    )


def _correlation(contrast: UnitFigure) -> float:
    """Return the correlation of paired values within conditions; 0 if there are too few pairs."""
    # A seed shared by several conditions has one label in each of them.
    sides = [
        dict(zip(zip(side.labels, side.conditions, strict=True), side.values, strict=True))
        for _, side in contrast.sides
    ]
    both = [place for place in sides[0] if place in sides[1]]
    groups = grouped((place[1], (sides[0][place], sides[1][place])) for place in both)
    if len(both) - len(groups) < ENOUGH_PAIRS:
        return 0.0
    total = np.sum([np.cov(np.array(of).T, ddof=0) * len(of) for of in groups.values() if len(of) > 1], axis=0)
    room = float(total[0, 0] * total[1, 1])
    return 0.0 if room <= 1e-18 else round(max(-1.0, min(1.0, float(total[0, 1]) / math.sqrt(room))), 6)


def assumed_of(design: SeedLayout, baseline: float | None, sd: float | None, correlation: float | None) -> Assumed:
    """Return stated assumptions; by default the middle of the bounds and the spread of a uniform distribution."""
    low, high = design.comparison.bounds
    if low is None or high is None:
        if sd is None or baseline is None:
            raise UsageError("this measure has no bounds: state --baseline and --sd, or name a pilot with --from RUN")
        return Assumed(baseline, sd, correlation or 0.0)
    middle = (low + high) / 2 if baseline is None else baseline
    room = max(0.0, (middle - low) * (high - middle))
    usual = min((high - low) / math.sqrt(12), math.sqrt(room))
    # A baseline on a bound allows no spread, so the largest is assumed: values on either bound.
    share = 1.0 if sd is None and room == 0 else None
    return Assumed(middle, usual if sd is None else sd, correlation or 0.0, share=share)


def pace_of(pilot: RunData) -> float | None:
    """Return the seconds per call of a run: the time with a call in flight, over the number of calls."""
    rows = pilot.records('SELECT "at", latency FROM calls WHERE error IS NULL AND "at" IS NOT NULL')
    spans = ((float(row["at"]), float(row["at"]) + float(row["latency"] or 0.0)) for row in rows)
    return busy_seconds(spans) / len(rows) if rows else None
