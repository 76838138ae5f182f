"""Permutation tests, and intervals by resampling clusters.

A permutation test is exact when all rearrangements can be listed, otherwise with random ones.

The statistic is the difference of means. A random test reports (1 + hits) / (1 + draws), which is never
zero and keeps its level (Phipson & Smyth 2010).

Where whole clusters are drawn again, the draws are weights per cluster, so that any function of sums over rows costs
one matrix product for thousands of resamples. They give the interval of what is no mean (weights of a mixture, shares
of variance). Percentiles of such draws cover less than they say for a few clusters (docs/statistics.md): a mean, a
share, a difference or a slope never takes them.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ostrom.analysis.statistics.result import Estimate
from ostrom.analysis.statistics.samples import (
    ROUNDING,
    BadSample,
    Floats,
    Ints,
    Labels,
    Numbers,
    Undefined,
    binary,
    checked_unit,
    label_codes,
    paired_samples,
    sample,
    without_rounding,
)

CHUNK = 4_000_000
"""The most labels, or weights of clusters, held in memory at a time."""
EXACT_LIMIT = 50_000
"""The number of permutations up to which all of them are enumerated."""


@dataclass(frozen=True)
class Permutation:
    """A permutation test: the difference with its p-value, and the arrangements looked at, all of them when `exact`."""

    estimate: Estimate
    exact: bool
    arrangements: int
    n_clusters: int | None = None


def permutation_paired(
    first: Numbers, second: Numbers, *, unit: str, rng: np.random.Generator, draws: int = 9_999
) -> Permutation:
    """Test whether the signs of paired differences are random, by swapping the members of pairs.

    >>> test = permutation_paired([5, 6, 7, 9], [1, 2, 3, 4], unit="scenario", rng=np.random.default_rng(0))
    >>> test.estimate.p, test.arrangements
    (0.125, 16)
    """
    a, b = paired_samples(first, second, ("first sample", "second sample"))
    pairs, side = [*range(a.size)] * 2, np.repeat([1.0, 0.0], a.size)
    test = permutation_grouped(np.append(a, b), side, unit=unit, rng=rng, blocks=pairs, draws=draws)
    return replace(test, estimate=replace(test.estimate, n=a.size, method="paired", sizes=(a.size,)))


def permutation_grouped(
    values: Numbers,
    treated: Numbers,
    *,
    unit: str,
    rng: np.random.Generator,
    clusters: Labels | None = None,
    blocks: Labels | None = None,
    draws: int = 9_999,
) -> Permutation:
    """Test the difference of means between treated (1) and control (0), permuting labels as they were assigned.

    With `clusters` the label belongs to whole clusters and moves with them; with `blocks` it moves only
    within a block (clusters inside blocks). A label that changes within a cluster is refused: make that
    cluster a block.

    >>> test = permutation_grouped(
    ...     [1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0], clusters=[1, 1, 2, 2, 3, 3, 4, 4],
    ...     unit="match", rng=np.random.default_rng(0))
    >>> test.estimate.value, test.arrangements
    (0.75, 6)
    """
    data, label = sample(values, "values", at_least=2), binary(treated, "treated")
    if label.size != data.size:
        raise BadSample(f"values and treated must have the same length (found {data.size} and {label.size})")
    if label.min() == label.max():
        raise BadSample("a permutation test needs both treated and control rows")
    codes, count = np.arange(data.size), data.size
    if clusters is not None:
        codes, levels = label_codes(clusters, data.size, "clusters")
        count = len(levels)
    moved = _per_cluster(label, codes, count, "treated")
    blocked = [0] * data.size if blocks is None else blocks
    block = _per_cluster(label_codes(blocked, data.size, "blocks")[0].astype(float), codes, count, "blocks")
    members = [np.flatnonzero(block == value) for value in np.unique(block)]
    sums: Floats = np.bincount(codes, weights=data, minlength=count).astype(np.float64)
    sizes: Ints = np.bincount(codes, minlength=count).astype(np.int64)
    ways = math.prod(math.comb(part.size, int(moved[part].sum())) for part in members)
    if ways == 1:
        raise Undefined("no rearrangement is possible: every block is all treated or all control")
    exact = ways <= EXACT_LIMIT
    total = ways if exact else draws
    observed = without_rounding(float(_difference(moved[None, :], sums, sizes)[0]), float(np.abs(data).max()))
    chunks = _all_labels(moved, members) if exact else _random_labels(moved, members, total, rng)
    # Sums in another order differ in the last digits; ties must still count as ties.
    least = abs(observed) - 1e-10 * max(float(np.abs(data).max()), 1e-300)
    hits = sum(int(np.sum(np.abs(_difference(chunk, sums, sizes)) >= least)) for chunk in chunks)
    treated_rows = int(label.sum())
    test = Estimate(
        {}, observed, None, None, data.size, checked_unit(unit), "two-sample" if clusters is None else "clustered",
        p=hits / total if exact else (1 + hits) / (1 + total), sizes=(treated_rows, int(label.size) - treated_rows),
    )  # fmt: skip
    return Permutation(test, exact, total, None if clusters is None else count)


def _difference(labels: Floats, sums: Floats, sizes: Ints) -> Floats:
    inside, rows = labels @ sums, labels @ sizes
    difference: Floats = inside / rows - (sums.sum() - inside) / (sizes.sum() - rows)
    return difference


def _per_cluster(values: Floats, codes: Ints, count: int, name: str) -> Floats:
    per = np.empty(count)
    per[codes] = values
    torn = np.flatnonzero(per[codes] != values)
    if torn.size:
        raise BadSample(f"{name}: differs within a cluster (row {torn[0]}); use that cluster as a block instead")
    return per


def _all_labels(moved: Floats, members: list[np.ndarray[tuple[int], np.dtype[np.intp]]]) -> Iterator[Floats]:
    tables = [_combinations(part.size, int(moved[part].sum())) for part in members]
    total = math.prod(len(table) for table in tables)
    step = max(1, CHUNK // moved.size)
    for start in range(0, total, step):
        # Each permutation is a number whose digits, one per block, choose a line of that block's table.
        number = np.arange(start, min(start + step, total))
        labels = np.empty((number.size, moved.size))
        for part, table in zip(members, tables, strict=True):
            number, digit = np.divmod(number, len(table))
            labels[:, part] = table[digit]
        yield labels


def _combinations(size: int, chosen: int) -> Floats:
    picks = np.array(list(itertools.combinations(range(size), chosen)), dtype=np.intp)
    table = np.zeros((len(picks), size))
    table[np.arange(len(picks))[:, None], picks] = 1.0
    return table


def _random_labels(
    moved: Floats, members: list[np.ndarray[tuple[int], np.dtype[np.intp]]], total: int, rng: np.random.Generator
) -> Iterator[Floats]:
    step = max(1, CHUNK // moved.size)
    for start in range(0, total, step):
        labels = np.empty((min(step, total - start), moved.size))
        for part in members:
            labels[:, part] = rng.permuted(np.tile(moved[part], (len(labels), 1)), axis=1)
        yield labels


MOST_UNDEFINED = 0.05
"""Share of resamples without a value beyond which no interval is given."""


@dataclass(frozen=True)
class Clusters:
    """Rows grouped into clusters that are drawn together."""

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
    """Group ``size`` rows into clusters by their labels, one label per row."""
    codes, levels = label_codes(labels, size, "clusters")
    if len(levels) < 2:
        raise BadSample(f"a cluster bootstrap needs at least 2 clusters (found {len(levels)})")
    return Clusters(codes, len(levels))


def percentiles(draws: Floats, level: float) -> tuple[float, float]:
    """Return the central interval of the draws."""
    low, high = np.quantile(draws, ((1 - level) / 2, (1 + level) / 2))
    return float(low), float(high)


def percentiles_around(draws: Floats, estimate: float, level: float, what: str) -> tuple[float, float]:
    """Return percentiles of the finite draws, shifted to an estimate corrected for resampling noise."""
    finite = draws[np.isfinite(draws)]
    missing = draws.size - finite.size
    if missing > MOST_UNDEFINED * draws.size:
        raise Undefined(f"{what} has no value in {missing} of {draws.size} resamples: too few clusters carry it")
    moved = finite - finite.mean() + estimate
    # Sums in another order differ in the last digits; the value is still the same.
    moved = np.where(
        np.abs(moved - estimate) <= ROUNDING * max(float(np.abs(moved).max()), abs(estimate)), estimate, moved
    )
    return (estimate, estimate) if np.all(moved == estimate) else percentiles(moved, level)
