"""The cluster bootstraps every study asks for: mean, group means, difference, slope and correlation."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from ostrom.analysis.statistics.bootstrap import Bootstrap
from ostrom.analysis.statistics.cluster_bootstrap import Drawing, cluster_bootstrap
from ostrom.analysis.statistics.errors import BadSample, Undefined
from ostrom.analysis.statistics.quantiles import MOST_UNDEFINED, bootstrap_error, bootstrap_interval
from ostrom.analysis.statistics.resampling import resampling_plan
from ostrom.analysis.statistics.samples import (
    ROUNDING,
    Floats,
    Labels,
    Numbers,
    checked_level,
    checked_resamples,
    checked_unit,
    is_constant,
    label_codes,
    paired_samples,
    sample,
)


def cluster_bootstrap_mean(values: Numbers, **drawing: Unpack[Drawing]) -> Bootstrap:
    """Mean over rows with an interval over clusters.

    >>> rng = np.random.default_rng(3)
    >>> matches = [1, 1, 2, 2, 3, 3]
    >>> cluster_bootstrap_mean([1, 1, 0, 0, 1, 0], clusters=matches, unit="match", rng=rng).estimate
    0.5
    """
    data = sample(values, "values", at_least=2)
    return cluster_bootstrap(np.column_stack([data, np.ones(data.size)]), _ratio, **drawing)


def cluster_bootstrap_difference(
    values: Numbers, groups: Labels, *, first: Any, second: Any, **drawing: Unpack[Drawing]
) -> Bootstrap:
    """Mean of group `first` minus mean of group `second`; a cluster may hold rows of both.

    >>> rng = np.random.default_rng(3)
    >>> groups, clusters = ["a", "b"] * 3, [1, 1, 2, 2, 3, 3]
    >>> cluster_bootstrap_difference(
    ...     [1, 0, 1, 0, 1, 1], groups, first="a", second="b", clusters=clusters, unit="match", rng=rng
    ... ).n
    6
    """
    data = sample(values, "values", at_least=2)
    codes, names = label_codes(groups, data.size, "groups")
    masks = []
    for wanted in (first, second):
        if wanted not in names:
            raise BadSample(f"groups: no row belongs to {wanted!r} (found: {', '.join(map(str, names))})")
        masks.append((codes == names.index(wanted)).astype(np.float64))
    a, b = masks
    return cluster_bootstrap(
        np.column_stack([data * a, a, data * b, b]),
        lambda sums: _difference(sums[:, 0] / sums[:, 1], sums[:, 2] / sums[:, 3]),
        **drawing,
    )


def cluster_bootstrap_means(
    values: Numbers,
    groups: Labels,
    *,
    clusters: Labels,
    unit: str,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
    strata: Labels | None = None,
    crossed: Labels | None = None,
    nested: Labels | None = None,
) -> dict[Any, Bootstrap]:
    """Mean of every group with percentile intervals from one common set of resamples.

    A group that a single cluster carries, or that too many resamples miss, keeps its estimate but has `ci`
    None and a `note`: one thin cell of a table must not take the other cells down.

    >>> table = cluster_bootstrap_means(
    ...     [1, 0, 1, 1, 0.5], ["a", "a", "a", "a", "b"], clusters=[1, 1, 2, 2, 2], unit="match",
    ...     rng=np.random.default_rng(0))
    >>> table["a"].estimate, table["b"].ci, table["b"].note
    (0.75, None, 'only 1 cluster')
    """
    data = sample(values, "values", at_least=2)
    codes, names = label_codes(groups, data.size, "groups")
    checked_unit(unit), checked_level(level), checked_resamples(resamples)
    clusters = list(clusters)
    plan = resampling_plan(data.size, clusters=clusters, strata=strata, crossed=crossed, nested=nested)
    member = np.zeros((data.size, len(names)))
    member[np.arange(data.size), codes] = 1.0
    cell_sums = plan.sums(np.concatenate([member * data[:, None], member], axis=1))
    totals, whole = plan.totals(rng, resamples, cell_sums), cell_sums.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        draws: Floats = totals[:, : len(names)] / totals[:, len(names) :]
    cluster_of_row = plan.cluster_of_cell[plan.cell_of_row]
    table: dict[Any, Bootstrap] = {}
    for j, name in enumerate(names):
        finite = draws[np.isfinite(draws[:, j]), j]
        carriers = int(np.unique(cluster_of_row[codes == j]).size)
        missing, estimate, note = resamples - finite.size, float(whole[j] / whole[len(names) + j]), None
        if carriers < 2:
            note = "only 1 cluster"
        elif missing > MOST_UNDEFINED * resamples:
            note = f"no value in {missing} of {resamples} resamples"
        table[name] = Bootstrap(
            estimate=estimate,
            se=None if note else bootstrap_error(finite),
            ci=None if note else bootstrap_interval(finite, estimate, None, "percentile", level),
            method="percentile",
            resamples=resamples,
            undefined=missing,
            n=int(np.sum(codes == j)),
            n_clusters=carriers,
            unit=unit,
            note=note,
        )
    return table


def cluster_bootstrap_slope(x: Numbers, y: Numbers, **drawing: Unpack[Drawing]) -> Bootstrap:
    """Least-squares slope of y on x with an interval over clusters."""
    a, b = _varying(x, y, both=False)
    return cluster_bootstrap(
        _moments(a, b),
        lambda s: _solid(_covariation(s), s[:, 3] - s[:, 1] ** 2 / s[:, 0], s[:, 3]),
        **drawing,
    )


def cluster_bootstrap_correlation(x: Numbers, y: Numbers, **drawing: Unpack[Drawing]) -> Bootstrap:
    """Pearson correlation with an interval over clusters."""
    a, b = _varying(x, y, both=True)

    def correlation(s: Floats) -> Floats:
        xx, yy = s[:, 3] - s[:, 1] ** 2 / s[:, 0], s[:, 5] - s[:, 2] ** 2 / s[:, 0]
        spread = np.sqrt(np.maximum(xx, 0.0) * np.maximum(yy, 0.0))
        return np.clip(_solid(_covariation(s), spread, np.sqrt(s[:, 3] * s[:, 5])), -1.0, 1.0)

    return cluster_bootstrap(_moments(a, b), correlation, **drawing)


def _ratio(sums: Floats) -> Floats:
    ratio: Floats = sums[:, 0] / sums[:, 1]
    return ratio


def _difference(a: Floats, b: Floats) -> Floats:
    """The difference, zero where it is only rounding error."""
    difference: Floats = a - b
    return np.where(np.abs(difference) <= ROUNDING * np.maximum(np.abs(a), np.abs(b)), 0.0, difference)


def _moments(a: Floats, b: Floats) -> Floats:
    # Centred first, so that differences of sums of squares keep their digits.
    a, b = a - a.mean(), b - b.mean()
    return np.column_stack([np.ones(a.size), a, b, a * a, a * b, b * b])


def _covariation(s: Floats) -> Floats:
    """Sum of products around the means, zero where it is only rounding error of the sums it comes from."""
    together: Floats = s[:, 4] - s[:, 1] * s[:, 2] / s[:, 0]
    return np.where(np.abs(together) <= ROUNDING * np.sqrt(s[:, 3] * s[:, 5]), 0.0, together)


def _solid(numerator: Floats, denominator: Floats, scale: Floats) -> Floats:
    """A ratio, without a value where the denominator is only rounding error."""
    return np.where(denominator > ROUNDING * scale, numerator / denominator, np.nan)


def _varying(x: Numbers, y: Numbers, *, both: bool) -> tuple[Floats, Floats]:
    a, b = paired_samples(x, y, ("x", "y"), at_least=3)
    for name, item in (("x", a), ("y", b)) if both else (("x", a),):
        if is_constant(item):
            raise Undefined(f"undefined: {name} is constant at {item[0]:g}")
    return a, b
