"""Means of groups of matches: with the spread over seeds that papers print, and an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import Any

import numpy as np

from ostrom.analysis.statistics import (
    StatisticsError,
    cluster_bootstrap_difference,
    overlap,
    without_rounding,
)
from ostrom.analysis.summary import bootstrap_interval, draws
from ostrom.replications.memory_curse.episodes import Episode, by_match


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its uncertainty; what one match cannot tell is None."""

    value: float
    low: float | None
    high: float | None
    sd: float | None
    """Standard deviation over seeds, with n - 1."""
    matches: int
    seeds: int
    note: str = ""

    def __contains__(self, value: float) -> bool:
        """Whether the interval holds a value; without an interval nothing can be said, so it does not."""
        return (
            self.low is not None and self.high is not None and overlap((self.low, self.high), (value, value))
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "value": self.value,
            "ci": None if self.low is None else [self.low, self.high],
            "sd": self.sd,
            "matches": self.matches,
            "seeds": self.seeds,
            **({"note": self.note} if self.note else {}),
        }


def estimate(rows: Sequence[Episode], value: str = "cooperation") -> Estimate | None:
    """The mean over matches (players of a match first), a percentile interval that resamples matches, and the
    SD over seeds; None where no match has the value."""
    per_match = by_match(rows, value)
    if not per_match:
        return None
    values = np.array(list(per_match.values()))
    low, high = bootstrap_interval(values)
    seed_of = {row.match: row.seed for row in rows}
    seeds: dict[int, list[float]] = {}
    for match, one in per_match.items():
        seeds.setdefault(seed_of[match], []).append(one)
    means = [sum(of) / len(of) for of in seeds.values()]
    return Estimate(
        value=float(values.mean()),
        low=low,
        high=high,
        sd=stdev(means) if len(means) > 1 else None,
        matches=len(values),
        seeds=len(means),
    )


def difference(
    first: Sequence[Episode], second: Sequence[Episode], value: str = "cooperation"
) -> Estimate | None:
    """The mean of one group minus that of another.

    The interval resamples whole matches; groups that never share a match are drawn apart from each other.
    None where a group has no value; no interval where a group has a single match.
    """
    sides = [[row for row in rows if getattr(row, value) is not None] for rows in (first, second)]
    if not all(sides):
        return None
    matches = [{row.match for row in rows} for rows in sides]
    paired = bool(matches[0] & matches[1])
    both = [row for rows in sides for row in rows]
    values = [getattr(row, value) for row in both]
    labels = ["first"] * len(sides[0]) + ["second"] * len(sides[1])
    means = [float(np.mean(part)) for part in (values[: len(sides[0])], values[len(sides[0]) :])]
    point = without_rounding(means[0] - means[1], max(map(abs, means)))
    low = high = None
    note = ""
    if min(map(len, matches)) < 2:
        note = "one side has a single match, so there is no interval"
    else:
        try:
            result = cluster_bootstrap_difference(
                values, labels, first="first", second="second", clusters=[row.match for row in both],
                unit="match", rng=draws(len(both)), strata=None if paired else labels,
            )  # fmt: skip
            low, high = result.ci or (None, None)
        except StatisticsError as error:
            note = str(error)
    seeds = {row.seed for row in both}
    return Estimate(point, low, high, None, len(matches[0] | matches[1]), len(seeds), note)
