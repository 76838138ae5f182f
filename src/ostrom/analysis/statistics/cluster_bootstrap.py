"""Cluster bootstrap of any statistic that is a function of sums over rows, by resampling whole clusters.

Rows are summed per cluster once; 10,000 resamples of 100,000 rows are then one product of a weight matrix
with a small table. Means, differences, ratios, slopes and correlations are all functions of such sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Required, TypedDict

import numpy as np
import numpy.typing as npt

from ostrom.analysis.statistics.bootstrap import Bootstrap, Method, summed_up
from ostrom.analysis.statistics.errors import BadSample, Undefined
from ostrom.analysis.statistics.quantiles import METHODS
from ostrom.analysis.statistics.resampling import resampling_plan
from ostrom.analysis.statistics.samples import (
    Floats,
    Labels,
    checked_level,
    checked_option,
    checked_resamples,
    checked_unit,
)

Statistic = Callable[[Floats], npt.ArrayLike]


class Drawing(TypedDict, total=False):
    """The options of `cluster_bootstrap`, for the functions that hand them on to it."""

    clusters: Required[Labels]
    unit: Required[str]
    rng: Required[np.random.Generator]
    resamples: int
    level: float
    method: Method
    strata: Labels | None
    crossed: Labels | None
    nested: Labels | None


def cluster_bootstrap(
    features: npt.ArrayLike,
    statistic: Statistic,
    *,
    clusters: Labels,
    unit: str,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
    method: Method = "percentile",
    strata: Labels | None = None,
    crossed: Labels | None = None,
    nested: Labels | None = None,
) -> Bootstrap:
    """Interval of `statistic(sums)`, where sums has shape (resamples, columns of features).

    `unit` names what is resampled. `crossed` adds a second kind of cluster drawn independently, `nested` a
    finer one drawn inside each cluster. BCa leaves out one cluster at a time and is not defined for crossed
    clusters.

    >>> points = np.array([8.0, 8, 5, 5, 0, 10])
    >>> rows = np.column_stack([points, np.ones(6)])
    >>> ratio = lambda sums: sums[:, 0] / sums[:, 1]
    >>> rng, matches = np.random.default_rng(0), [1, 1, 2, 2, 3, 3]
    >>> cluster_bootstrap(rows, ratio, clusters=matches, unit="match", rng=rng).estimate
    6.0
    """
    checked_unit(unit), checked_level(level), checked_resamples(resamples)
    checked_option("method", method, METHODS)
    if method == "bca" and crossed is not None:
        raise BadSample("BCa is not defined for crossed clusters; use the percentile method")
    rows = feature_rows(features)
    plan = resampling_plan(len(rows), clusters=clusters, strata=strata, crossed=crossed, nested=nested)
    cell_sums = plan.sums(rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = float(_apply(statistic, cell_sums.sum(axis=0)[None, :])[0])
        if not np.isfinite(estimate):
            raise Undefined("the statistic has no value on the sample itself")
        draws = _apply(statistic, plan.totals(rng, resamples, cell_sums))
        jackknife = _apply(statistic, plan.jackknife_sums(cell_sums)) if method == "bca" else None
    return summed_up(
        estimate, draws, jackknife, method, level, n=len(rows), n_clusters=plan.n_clusters, unit=unit
    )


def feature_rows(features: npt.ArrayLike) -> Floats:
    """A table of finite numbers, one line per row of data."""
    rows = np.asarray(features, dtype=np.float64)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or not len(rows):
        raise BadSample(f"features must be a table with one line per row (found shape {rows.shape})")
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        raise BadSample(f"features: {bad.size} rows are missing or infinite (first at index {bad[0]})")
    return rows


def _apply(statistic: Statistic, sums: Floats) -> Floats:
    values: npt.NDArray[Any] = np.asarray(statistic(sums), dtype=np.float64)
    if values.shape != (len(sums),):
        raise BadSample(
            f"the statistic must give one number per line of sums ({len(sums)} lines, found {values.shape})"
        )
    return values
