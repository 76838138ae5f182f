"""Where the variance of an outcome comes from: shares of factors, of their pairs and of the rest.

The share of a factor is its gain in explained variance averaged over all orders in which factors can enter a
main-effects model; the share of a pair is the same for its interaction on top of all main effects. On
balanced data this is the classical decomposition of the sum of squares; on unbalanced data no order is
preferred. What is left is the residual: seeds and everything not named. Since even a factor without any
effect takes up variance by chance, an adjusted share (epsilon squared: Kelley 1935) stands beside each
plain one; it may be negative.

The average over orders is the Shapley share of a value that depends on which terms a model holds (Lindeman,
Merenda & Gold 1980).
"""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from ostrom.analysis.statistics.resampling import clusters_of, percentiles_around
from ostrom.analysis.statistics.result import Estimate
from ostrom.analysis.statistics.samples import (
    BadSample,
    Floats,
    Ints,
    Labels,
    Numbers,
    Undefined,
    checked_level,
    checked_resamples,
    checked_unit,
    is_constant,
    label_codes,
    sample,
    without_rounding,
)

Terms: TypeAlias = frozenset[int]
EXACT_TERMS = 6
"""Number of terms up to which all subsets are fitted; beyond, random orders are drawn in mirrored pairs."""
ORDERS = 24


def shapley_shares(value: Callable[[Terms], Floats], count: int, rng: np.random.Generator | None) -> list[Floats]:
    """Return the Shapley share of each term: its gain averaged over all orders in which the terms can enter.

    `value` may answer with an array (one entry per resample). The shares add up to value(all) - value(none).

    >>> shares = shapley_shares(lambda terms: np.array([float(sum(terms))]), 3, None)
    >>> [float(share[0]) for share in shares]
    [0.0, 1.0, 2.0]
    """
    of = cache(value)
    if count <= EXACT_TERMS or rng is None:
        return [_exact(of, term, count) for term in range(count)]
    shares = [np.zeros_like(of(frozenset())) for _ in range(count)]
    for _ in range(ORDERS // 2):
        order = rng.permutation(count).tolist()
        for path in (order, order[::-1]):
            coalition: Terms = frozenset()
            for term in path:
                grown = coalition | {term}
                shares[term] = shares[term] + (of(grown) - of(coalition)) / ORDERS
                coalition = grown
    return shares


def _exact(of: Callable[[Terms], Floats], term: int, count: int) -> Floats:
    others = [other for other in range(count) if other != term]
    total = np.zeros_like(of(frozenset()))
    for mask in range(2 ** len(others)):
        coalition = frozenset(other for bit, other in enumerate(others) if mask >> bit & 1)
        weight = math.factorial(len(coalition)) * math.factorial(count - len(coalition) - 1) / math.factorial(count)
        total = total + weight * (of(coalition | {term}) - of(coalition))
    return total


MOST_FACTORS = 8


@dataclass(frozen=True)
class VarianceShare:
    """One source: a factor ("labels"), a pair ("labels x seat") or "residual".

    `adjusted` is the share less what chance alone would explain.
    """

    source: str
    share: float
    adjusted: Estimate
    df: int

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        share = self.adjusted
        return {
            "source": self.source, "share": self.share, "adjusted": share.value, "df": self.df, "ci_low": share.low,
            "ci_high": share.high, **({} if share.low is None else {"level": share.level}),
        }  # fmt: skip


@dataclass(frozen=True)
class VarianceShares:
    """All sources; the shares add up to 1, and so do the adjusted ones."""

    shares: tuple[VarianceShare, ...]
    total_variance: float
    balanced: bool
    n: int
    n_clusters: int | None
    unit: str
    resamples: int

    def __getitem__(self, source: str) -> VarianceShare:
        for line in self.shares:
            if line.source == source:
                return line
        raise BadSample(f"no source {source!r} (found: {', '.join(line.source for line in self.shares)})")

    def rows(self) -> list[dict[str, Any]]:
        """One plain row per source."""
        return [line.as_dict() | {"n": self.n, "unit": self.unit} for line in self.shares]


def variance_shares(
    outcome: Numbers,
    factors: Mapping[str, Labels],
    *,
    unit: str,
    interactions: bool = True,
    clusters: Labels | None = None,
    rng: np.random.Generator | None = None,
    resamples: int = 500,
    level: float = 0.95,
) -> VarianceShares:
    """Decompose the variance of an outcome over factors, with intervals where `clusters` and `rng` are given.

    >>> result = variance_shares([0, 1, 2, 3], {"label": ["a", "a", "b", "b"], "seat": [1, 2, 1, 2]},
    ...                          unit="match", interactions=False)
    >>> [(line.source, round(line.share, 3)) for line in result.shares]
    [('label', 0.8), ('seat', 0.2), ('residual', 0.0)]
    """
    checked_unit(unit), checked_level(level)
    y = sample(outcome, "outcome", at_least=3)
    if is_constant(y):
        raise Undefined(f"there is no variance to decompose: the outcome is constant at {y[0]:g}")
    if not 1 <= len(factors) <= MOST_FACTORS:
        raise BadSample(f"between 1 and {MOST_FACTORS} factors can be decomposed (found {len(factors)})")
    if clusters is not None and rng is None:
        raise BadSample("intervals need a random generator: give rng together with clusters")
    layout = _Layout(factors, y.size, interactions)
    # Deviations from the grand mean keep the precision of sums of squares.
    y = y - y.mean()
    moments = np.column_stack([np.ones(y.size), y, y * y])
    full_sums = np.concatenate(_cell_totals(np.zeros(y.size, dtype=np.int64), layout.cell, moments, 1, layout.n_cells))
    order_rng = np.random.default_rng(0) if rng is None else rng
    point, residual = layout.decompose(full_sums[:, None, :], order_rng, exact=True)
    lines = layout.lines(point, float(residual[0]), y.size, unit)
    count: int | None = None
    if clusters is not None and rng is not None:
        checked_resamples(resamples)
        drawn = clusters_of(clusters, y.size)
        count = drawn.count
        spread = _cell_totals(drawn.of_row, layout.cell, moments, count, layout.n_cells)
        weights = np.concatenate(list(drawn.weights(rng, resamples)))
        draws, rest = layout.decompose(np.stack([weights @ table for table in spread]), order_rng, exact=False)
        # Later digits are what rounding leaves of a share of 0, and 0.0 added makes -0.0 plain.
        intervals = [
            [round(end, 6) + 0.0 for end in percentiles_around(draw, line.adjusted.value, level, "a variance share")]
            for draw, line in zip((*draws, rest), lines, strict=True)
        ]
        lines = tuple(
            replace(line, adjusted=replace(line.adjusted, low=low, high=high, method="bootstrap", level=level))
            for line, (low, high) in zip(lines, intervals, strict=True)
        )
    return VarianceShares(
        shares=lines,
        total_variance=float(y.var(ddof=1)),
        balanced=layout.balanced(full_sums[0]),
        n=int(y.size),
        n_clusters=count,
        unit=unit,
        resamples=resamples if clusters is not None else 0,
    )


class _Layout:
    """Cells of the crossed factors, coded columns by term, and the models built from them."""

    def __init__(self, factors: Mapping[str, Labels], size: int, interactions: bool) -> None:
        self.names = list(factors)
        coded = [label_codes(labels, size, f"factor {name}") for name, labels in factors.items()]
        for name, (_, levels) in zip(self.names, coded, strict=True):
            if len(levels) < 2:
                raise BadSample(f"factor {name}: has the single level {levels[0]!r}, so it explains nothing")
        self.level_counts = [len(levels) for _, levels in coded]
        profiles, cell = np.unique(np.stack([codes for codes, _ in coded], axis=1), axis=0, return_inverse=True)
        self.cell: Ints = cell.ravel().astype(np.int64)
        self.n_cells = len(profiles)
        # Effect coding: columns of different factors are orthogonal on balanced data.
        self.mains = [_effect_columns(profiles[:, j], count) for j, count in enumerate(self.level_counts)]
        self.pairs = list(itertools.combinations(range(len(self.names)), 2)) if interactions else []
        self.products = [_products(self.mains[i], self.mains[j]) for i, j in self.pairs]

    def decompose(self, totals: Floats, rng: np.random.Generator, *, exact: bool) -> tuple[list[Floats], Floats]:
        """Shares of all terms and of the residual from totals of shape (3, resamples, cells)."""
        weight, first, second = totals
        columns = np.concatenate([*self.mains, *self.products], axis=1)
        ends = np.cumsum([0, *(block.shape[1] for block in (*self.mains, *self.products))])
        fits = _Fits(weight, first, second, columns, exact=exact)
        mains = len(self.mains)

        def explained(terms: Terms, always: int, offset: int) -> Floats:
            blocks = [*range(always), *(offset + term for term in sorted(terms))]
            return fits.explained([column for b in blocks for column in range(ends[b], ends[b + 1])])

        shares = shapley_shares(lambda terms: explained(terms, 0, 0), mains, rng)
        if self.pairs:
            shares += shapley_shares(lambda terms: explained(terms, mains, mains), len(self.pairs), rng)
        return shares, 1.0 - np.sum(shares, axis=0)

    def balanced(self, counts: Floats) -> bool:
        """Whether every combination of levels occurs equally often."""
        return self.n_cells == int(np.prod(self.level_counts)) and float(np.ptp(counts)) == 0.0

    def lines(self, point: list[Floats], residual: float, size: int, unit: str) -> tuple[VarianceShare, ...]:
        """The table, with shares adjusted for the variance that chance alone would explain."""
        names = [*self.names, *(f"{self.names[i]} x {self.names[j]}" for i, j in self.pairs)]
        blocks = [*self.mains, *self.products]
        bases = [np.concatenate([np.ones((self.n_cells, 1)), *blocks[:n]], axis=1) for n in range(len(blocks) + 1)]
        ranks = [int(np.linalg.matrix_rank(basis)) for basis in bases]
        df, left = [grown - rank for rank, grown in itertools.pairwise(ranks)], size - ranks[-1]
        # Shares are solutions of linear equations: a billionth of the variance is rounding error.
        shares = [without_rounding(float(share[0]), 1e3) for share in point]
        rest = without_rounding(residual, 1e3)
        noise = rest / left if left > 0 else 0.0
        adjusted = [without_rounding(share - freedom * noise, 1e3) for share, freedom in zip(shares, df, strict=True)]
        adjusted.append(without_rounding(1.0 - sum(adjusted), 1e3))
        return tuple(
            VarianceShare(name, share, Estimate({}, value, None, None, size, unit, "none"), freedom)
            for name, share, value, freedom in zip(
                (*names, "residual"), (*shares, rest), adjusted, (*df, left), strict=True
            )
        )


class _Fits:
    """Explained share of variance for any set of columns, for many weightings of the cells at once."""

    def __init__(self, weight: Floats, first: Floats, second: Floats, columns: Floats, *, exact: bool) -> None:
        n, squares = weight.sum(axis=1), second.sum(axis=1)
        mean = first.sum(axis=1) / n
        total = squares - n * mean**2
        # A resample without variance has no shares.
        self.total: Floats = np.where(total > 1e-12 * np.maximum(squares, 1e-300), total, np.nan)
        centre = weight @ columns / n[:, None]
        outer = (columns[:, :, None] * columns[:, None, :]).reshape(len(columns), -1)
        k = columns.shape[1]
        self.inner = (weight @ outer).reshape(-1, k, k) - n[:, None, None] * (centre[:, :, None] * centre[:, None, :])
        self.cross = first @ columns - (n * mean)[:, None] * centre
        self.n, self.exact = n, exact

    def explained(self, picked: list[int]) -> Floats:
        """R squared of a model with an intercept and the picked columns."""
        if not picked:
            return np.zeros_like(self.total)
        inner, cross = self.inner[:, picked][:, :, picked], self.cross[:, picked]
        if self.exact:
            solution = np.linalg.pinv(inner, rcond=1e-10, hermitian=True) @ cross[:, :, None]
        else:
            # A level can be missing in a resample; a tiny ridge keeps the equations solvable.
            solution = np.linalg.solve(inner + (1e-9 * self.n)[:, None, None] * np.eye(len(picked)), cross[:, :, None])
        return np.asarray(np.einsum("bi,bi->b", cross, solution[:, :, 0]) / self.total)


def _effect_columns(codes: Ints, levels: int) -> Floats:
    return np.concatenate([np.eye(levels - 1), -np.ones((1, levels - 1))])[codes]


def _products(a: Floats, b: Floats) -> Floats:
    return (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)


def _cell_totals(cluster: Ints, cell: Ints, moments: Floats, clusters: int, cells: int) -> list[Floats]:
    index = cluster * cells + cell
    return [
        np.bincount(index, weights=column, minlength=clusters * cells).reshape(clusters, cells).astype(np.float64)
        for column in moments.T
    ]
