"""Bootstrap interval of any statistic of independent units (Efron & Tibshirani 1993)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ostrom.analysis.statistics.errors import BadSample, Undefined
from ostrom.analysis.statistics.quantiles import METHODS, bootstrap_error, bootstrap_interval, defined_draws
from ostrom.analysis.statistics.resampling import CHUNK
from ostrom.analysis.statistics.result import Interval, Result
from ostrom.analysis.statistics.samples import (
    Floats,
    Ints,
    Labels,
    Numbers,
    checked_level,
    checked_option,
    checked_resamples,
    checked_unit,
    label_codes,
    sample,
)

Method = Literal["percentile", "bca"]


@dataclass(frozen=True)
class Bootstrap(Result):
    """An estimate with its bootstrap interval.

    `undefined` counts resamples in which the statistic had no value (they are left out, and never more than
    5 %). `ci` is None only in tables of groups, where `note` then says why. An interval of width 0 means
    that every resample gave the same value, which is what resampling can say about units that all agree.
    """

    estimate: float
    se: float | None
    ci: Interval | None
    method: str
    resamples: int
    undefined: int
    n: int
    n_clusters: int | None
    unit: str
    note: str | None = None


def bootstrap(
    values: Numbers,
    statistic: Callable[..., Any] = np.mean,
    *,
    unit: str,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
    method: Method = "bca",
    strata: Labels | None = None,
) -> Bootstrap:
    """Interval of `statistic(array, axis=-1)` over units drawn with replacement, within strata if given.

    >>> rng = np.random.default_rng(1)
    >>> result = bootstrap([0.1, 0.4, 0.4, 0.5, 0.9, 1.0], np.median, unit="match", rng=rng)
    >>> result.estimate, result.unit
    (0.45, 'match')
    """
    checked_unit(unit), checked_level(level), checked_resamples(resamples)
    checked_option("method", method, METHODS)
    data = sample(values, "sample", at_least=2)
    groups = None if strata is None else _groups(data.size, strata)
    estimate = float(statistic(data, axis=-1))
    if not np.isfinite(estimate):
        raise Undefined("the statistic has no value on the sample itself")
    parts = []
    step = max(1, CHUNK // data.size)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        values_of_chunk = np.asarray(statistic(_drawn(data, groups, rng, size), axis=-1), dtype=np.float64)
        if values_of_chunk.shape != (size,):
            raise BadSample("the statistic must take an axis and give one number per resample")
        parts.append(values_of_chunk)
    jackknife = _jackknife(data, statistic) if method == "bca" else None
    return summed_up(
        estimate,
        np.concatenate(parts),
        jackknife,
        method,
        level,
        n=int(data.size),
        n_clusters=None,
        unit=unit,
    )


def summed_up(
    estimate: float,
    draws: Floats,
    jackknife: Floats | None,
    method: Method,
    level: float,
    *,
    n: int,
    n_clusters: int | None,
    unit: str,
) -> Bootstrap:
    """An estimate with what its resamples say about it."""
    finite = defined_draws(draws, "the statistic")
    return Bootstrap(
        estimate=estimate,
        se=bootstrap_error(finite),
        ci=bootstrap_interval(finite, estimate, jackknife, method, level),
        method=method,
        resamples=draws.size,
        undefined=int(draws.size - finite.size),
        n=n,
        n_clusters=n_clusters,
        unit=unit,
    )


def _drawn(data: Floats, groups: Sequence[Ints] | None, rng: np.random.Generator, size: int) -> Floats:
    """So many resamples of the data, one a line; within the groups if there are any."""
    if groups is None:
        return data[rng.integers(0, data.size, size=(size, data.size))]
    drawn = np.empty((size, data.size))
    for members in groups:
        drawn[:, members] = data[members[rng.integers(0, members.size, size=(size, members.size))]]
    return drawn


def _groups(size: int, strata: Labels) -> list[Ints]:
    codes, levels = label_codes(strata, size, "strata")
    groups = [np.flatnonzero(codes == code) for code in range(len(levels))]
    for level, members in zip(levels, groups, strict=True):
        if members.size < 2:
            raise BadSample(f"strata: stratum {level!r} has a single unit, so its variation is unknown")
    return groups


def _jackknife(data: Floats, statistic: Callable[..., Any]) -> Floats:
    out = np.empty(data.size)
    step = max(1, CHUNK // data.size)
    for start in range(0, data.size, step):
        rows = np.arange(start, min(start + step, data.size))
        kept = np.arange(data.size - 1)[None, :]
        kept = kept + (kept >= rows[:, None])
        out[rows] = statistic(data[kept], axis=-1)
    return out
