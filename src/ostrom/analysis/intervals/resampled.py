"""The interval of what is no mean (weights of a mixture, shares of variance): whole clusters are drawn again.

The draws are weights per cluster, so that any function of sums over rows costs one matrix product for thousands of
resamples. Percentiles of such draws cover less than they say for a few clusters (docs/statistics.md): a mean, a
share, a difference or a slope never takes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ostrom.analysis.statistics.result import Interval
from ostrom.analysis.statistics.samples import (
    ROUNDING,
    BadSample,
    Floats,
    Ints,
    Labels,
    Undefined,
    label_codes,
)

CHUNK = 4_000_000
"""Weights held in memory at a time."""
MOST_UNDEFINED = 0.05
"""Share of resamples without a value beyond which no interval is given."""


@dataclass(frozen=True)
class Clusters:
    """Rows sorted into clusters that are drawn as a whole."""

    of_row: Ints
    count: int

    def weights(self, rng: np.random.Generator, resamples: int) -> Iterator[Floats]:
        """How often each cluster is drawn, in chunks of shape (some resamples, clusters)."""
        step = max(1, CHUNK // self.count)
        for start in range(0, resamples, step):
            size = min(step, resamples - start)
            draws = rng.integers(0, self.count, size=(size, self.count))
            draws += np.arange(size)[:, None] * self.count
            drawn = np.bincount(draws.ravel(), minlength=size * self.count)
            yield drawn.reshape(size, self.count).astype(np.float64)

    def totals(self, rng: np.random.Generator, resamples: int, sums: Floats) -> Floats:
        """Resampled totals of columns that are summed by cluster, shape (resamples, columns)."""
        return np.concatenate([weights @ sums for weights in self.weights(rng, resamples)])


def clusters_of(labels: Labels, size: int) -> Clusters:
    """The clusters of so many rows, by one label per row."""
    codes, levels = label_codes(labels, size, "clusters")
    if len(levels) < 2:
        raise BadSample(f"a cluster bootstrap needs at least 2 clusters (found {len(levels)})")
    return Clusters(codes, len(levels))


def percentiles(draws: Floats, level: float) -> Interval:
    """The interval that holds the middle of the draws."""
    low, high = np.quantile(draws, ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(low), float(high), level)


def percentiles_around(draws: Floats, estimate: float, level: float, what: str) -> Interval:
    """Percentiles of the finite draws, moved onto an estimate that corrects for the noise of resampling."""
    finite = draws[np.isfinite(draws)]
    missing = draws.size - finite.size
    if missing > MOST_UNDEFINED * draws.size:
        raise Undefined(
            f"{what} has no value in {missing} of {draws.size} resamples: too few clusters carry it"
        )
    moved = finite - finite.mean() + estimate
    # The same value comes out of sums in another order with other last digits; it is still the same value.
    width = ROUNDING * max(float(np.abs(moved).max()), abs(estimate))
    moved = np.where(np.abs(moved - estimate) <= width, estimate, moved)
    return Interval(estimate, estimate, level) if np.all(moved == estimate) else percentiles(moved, level)
