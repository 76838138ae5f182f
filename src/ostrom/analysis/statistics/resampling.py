"""Which clusters a bootstrap draws, as weights per cell.

A plan sorts the rows into cells and draws how often each cell counts in a resample. Any statistic that is a
function of sums over rows then costs one matrix product for thousands of resamples, whatever the number of
rows.

* one-way: whole clusters are drawn with replacement, within strata where given;
* crossed: two kinds of clusters (run and design) are drawn independently and a row counts the product of both
  (the pigeonhole bootstrap: McCullagh 2000; Owen 2007), which errs on the wide side;
* nested: outer clusters are drawn, then inner ones inside each drawn copy (Davison & Hinkley 1997, section
  3.8).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ostrom.analysis.statistics.errors import BadSample
from ostrom.analysis.statistics.samples import Floats, Ints, Labels, label_codes

CHUNK = 4_000_000
"""Weights held in memory at a time."""


@dataclass(frozen=True)
class ResamplingPlan:
    """Cells of rows and the way to draw their weights."""

    cell_of_row: Ints
    n_cells: int
    cluster_of_cell: Ints
    n_clusters: int
    strata: tuple[Ints, ...]
    second_of_cell: Ints | None = None
    n_second: int = 0
    nested: bool = False

    def sums(self, features: Floats) -> Floats:
        """Sums of the feature columns within each cell, shape (cells, columns)."""
        columns = [
            np.bincount(self.cell_of_row, weights=features[:, j], minlength=self.n_cells)
            for j in range(features.shape[1])
        ]
        return np.stack(columns, axis=1)

    def jackknife_sums(self, cell_sums: Floats) -> Floats:
        """Totals with one top-level cluster left out at a time, shape (clusters, columns)."""
        per_cluster = np.zeros((self.n_clusters, cell_sums.shape[1]))
        np.add.at(per_cluster, self.cluster_of_cell, cell_sums)
        left_out: Floats = cell_sums.sum(axis=0) - per_cluster
        return left_out

    def weights(self, rng: np.random.Generator, resamples: int) -> Iterator[Floats]:
        """Weights of the cells, in chunks of shape (some resamples, cells)."""
        step = max(1, CHUNK // max(self.n_cells, self.n_clusters))
        for start in range(0, resamples, step):
            yield self._draw(rng, min(step, resamples - start))

    def totals(self, rng: np.random.Generator, resamples: int, cell_sums: Floats) -> Floats:
        """Resampled totals of the feature columns, shape (resamples, columns)."""
        return np.concatenate([weights @ cell_sums for weights in self.weights(rng, resamples)])

    def _draw(self, rng: np.random.Generator, size: int) -> Floats:
        outer = np.empty((size, self.n_clusters))
        for members in self.strata:
            outer[:, members] = _counts(rng, size, members.size)
        if self.second_of_cell is None:
            return outer
        if not self.nested:
            inner = _counts(rng, size, self.n_second)
            crossed: Floats = outer[:, self.cluster_of_cell] * inner[:, self.second_of_cell]
            return crossed
        weights = np.zeros((size, self.n_cells))
        order = np.argsort(self.cluster_of_cell, kind="stable")
        bounds = np.searchsorted(self.cluster_of_cell[order], np.arange(self.n_clusters + 1))
        for cluster in range(self.n_clusters):
            cells = order[bounds[cluster] : bounds[cluster + 1]]
            # m copies of an outer cluster, each with its own k draws from its k cells: m * k draws in all.
            draws = (outer[:, cluster] * cells.size).astype(np.int64)
            weights[:, cells] = rng.multinomial(draws, np.full(cells.size, 1 / cells.size))
        return weights


def resampling_plan(
    size: int,
    *,
    clusters: Labels,
    strata: Labels | None = None,
    crossed: Labels | None = None,
    nested: Labels | None = None,
) -> ResamplingPlan:
    """The plan for so many rows, after checking that clusters, strata and nesting fit together."""
    codes, levels = label_codes(clusters, size, "clusters")
    count = len(levels)
    if count < 2:
        raise BadSample(f"a cluster bootstrap needs at least 2 clusters (found {count})")
    if crossed is not None and nested is not None:
        raise BadSample("give either crossed or nested clusters, not both")
    if crossed is not None and strata is not None:
        raise BadSample("crossed clusters cannot be stratified")
    groups = _strata(codes, count, strata, size, levels)
    if crossed is None and nested is None:
        return ResamplingPlan(codes, count, np.arange(count), count, groups)
    name, second = ("crossed", crossed) if crossed is not None else ("nested", nested)
    assert second is not None
    other, other_levels = label_codes(second, size, name)
    if crossed is not None and len(other_levels) < 2:
        raise BadSample(f"crossed: needs at least 2 clusters (found {len(other_levels)})")
    # Inner labels may repeat between outer clusters (design 1 of every player): the pair is the cell.
    pair, cell_of_row = np.unique(codes * len(other_levels) + other, return_inverse=True)
    return ResamplingPlan(
        cell_of_row=cell_of_row.astype(np.int64),
        n_cells=pair.size,
        cluster_of_cell=pair // len(other_levels),
        n_clusters=count,
        strata=groups,
        second_of_cell=pair % len(other_levels),
        n_second=len(other_levels),
        nested=crossed is None,
    )


def _strata(
    codes: Ints, count: int, strata: Labels | None, size: int, levels: tuple[object, ...]
) -> tuple[Ints, ...]:
    if strata is None:
        return (np.arange(count),)
    stratum_of_row, names = label_codes(strata, size, "strata")
    stratum = np.full(count, -1, dtype=np.int64)
    stratum[codes] = stratum_of_row
    torn = np.flatnonzero(stratum[codes] != stratum_of_row)
    if torn.size:
        raise BadSample(f"strata: cluster {levels[codes[torn[0]]]!r} lies in more than one stratum")
    members = tuple(np.flatnonzero(stratum == s) for s in range(len(names)))
    for name, group in zip(names, members, strict=True):
        if group.size < 2:
            raise BadSample(f"strata: stratum {name!r} has a single cluster, so its variation is unknown")
    return members


def _counts(rng: np.random.Generator, size: int, clusters: int) -> Floats:
    draws = rng.integers(0, clusters, size=(size, clusters))
    draws += np.arange(size)[:, None] * clusters
    return np.bincount(draws.ravel(), minlength=size * clusters).reshape(size, clusters).astype(np.float64)
