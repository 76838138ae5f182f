"""Draw samples, ask for intervals, count: one figure per kind of data, distribution and size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from tools.coverage.generators import DIFFERENCES, FURTHER, ISSUED, UNBOUNDED, Array, Generator

from ostrom.analysis.intervals import (
    Limits,
    difference_of,
    mean_of,
    paired_difference_of,
    share_of,
    slope_of,
)
from ostrom.analysis.intervals.limits import t_quantile
from ostrom.ground.streams import key_of

Trial = tuple[Limits, float, float, float]
"""Our limits, the truth, and Student's value and reach."""

SIZES = (2, 3, 5, 10, 20, 30)


@dataclass(frozen=True)
class Cell:
    """How one distribution fares at one size."""

    kind: str
    row: str
    size: str
    aim: float
    """The least share of intervals that should hold the truth."""
    covered: float
    student: float
    """The same for Student's (or Welch's) interval."""
    width: float | None
    """Mean width over that of Student's; None where that one has none."""
    limited: bool
    """Whether the width counts: ten values or more, and Student's interval covers."""
    missing: float
    """The share of samples without an interval."""


def rng_for(*what: object) -> np.random.Generator:
    """The draws of one cell depend on its name alone."""
    return np.random.default_rng(key_of(" ".join(map(str, what))))


def measured(samples: int) -> Iterator[Cell]:
    """Every cell of the table."""
    for kind, rows in (("mean", ISSUED), ("mean, further", FURTHER), ("mean, not bounded", UNBOUNDED)):
        for row in rows:
            for n in SIZES:
                drawn = row.draw(rng_for(kind, row.name, n), (samples, n))
                yield _cell(kind, row.name, f"{n}", n, (_mean(row, values) for values in drawn))
    for row in ISSUED:
        for n in SIZES:
            draws = rng_for("paired", row.name, n)
            pairs = row.draw(draws, (samples, 2, n))
            shared = draws.random((samples, n)) < 0.3  # pairs have something in common
            pairs[:, 1] = np.where(shared, pairs[:, 0], pairs[:, 1])
            yield _cell("paired difference", row.name, f"{n}", n, (_paired(row, pair) for pair in pairs))
        for n, m in ((3, 3), (5, 5), (10, 10), (3, 30), (10, 30)):
            draws = rng_for("difference", row.name, n, m)
            sides = zip(row.draw(draws, (samples, n)), row.draw(draws, (samples, m)), strict=True)
            trials = (_difference(row, a, b) for a, b in sides)
            yield _cell("difference", row.name, f"{n} and {m}", min(n, m), trials)
        for levels, n in ((3, 3), (5, 3), (4, 5), (4, 10)):
            drawn = row.draw(rng_for("slope", row.name, levels, n), (samples, levels * n))
            x = np.repeat(2.0 ** np.arange(levels), n)
            trials = (_slope(row, x, y) for y in drawn)
            yield _cell("slope over ln x", row.name, f"{levels} levels of {n}", n, trials)
    for chances in DIFFERENCES:
        row_name = "+1, 0, -1 with chances " + ", ".join(f"{chance:g}" for chance in chances)
        for n in SIZES:
            drawn = rng_for("differences", row_name, n).choice([1.0, 0.0, -1.0], (samples, n), p=chances)
            trials = (_all_or_nothing(values, chances[0] - chances[2]) for values in drawn)
            yield _cell("paired difference, all or nothing", row_name, f"{n}", n, trials)
    for p in (0.5, 0.9, 0.97):
        for clusters in (5, 10):
            for icc in (0.0, 0.2, 0.5):
                draws = rng_for("clusters", p, clusters, icc)
                trials = (_clusters(draws, p, clusters, icc) for _ in range(samples))
                size = f"{clusters} clusters, ICC {icc:g}"
                yield _cell("clusters of 2 to 14", f"all or nothing, {p:g}", size, clusters, trials)


def _cell(kind: str, row: str, size: str, n: int, trials: Iterable[Trial]) -> Cell:
    covered = student = known = 0
    total, ours, theirs = 0, 0.0, 0.0
    for limits, truth, value, reach in trials:
        total += 1
        student += abs(value - truth) <= reach + 1e-12
        if limits.low is None or limits.high is None:
            continue
        known += 1
        covered += limits.low - 1e-12 <= truth <= limits.high + 1e-12
        ours, theirs = ours + limits.high - limits.low, theirs + 2 * reach
    share = student / total
    return Cell(
        kind, row, size, 0.93 if n >= 5 else 0.90, covered / known if known else 1.0, share,
        ours / theirs if theirs > 0 else None, n >= 10 and share >= 0.93, 1 - known / total,
    )  # fmt: skip


@lru_cache(maxsize=256)
def _t(df: float) -> float:
    return t_quantile(0.975, df)


def _student(values: Array) -> tuple[float, float]:
    n = values.size
    return float(values.mean()), _t(n - 1) * float(values.std(ddof=1)) / n**0.5


def _mean(row: Generator, values: Array) -> Trial:
    if row.name.startswith("all or nothing"):
        found = share_of(int(values.sum()), values.size)
    else:
        found = mean_of(values, bounds=row.bounds)
    return found.limits(), row.mean, *_student(values)


def _paired(row: Generator, pair: Array) -> Trial:
    found = paired_difference_of(pair[0], pair[1], bounds=row.bounds)
    return found.limits(), 0.0, *_student(pair[0] - pair[1])


def _all_or_nothing(differences: Array, truth: float) -> Trial:
    first = (differences > 0) * 1.0
    found = paired_difference_of(first, first - differences, bounds=(0.0, 1.0))
    return found.limits(), truth, *_student(differences)


def _difference(row: Generator, a: Array, b: Array) -> Trial:
    one, two = a.var(ddof=1) / a.size, b.var(ddof=1) / b.size
    reach = 0.0
    if one + two > 0:
        df = (one + two) ** 2 / (one**2 / (a.size - 1) + two**2 / (b.size - 1))
        reach = t_quantile(0.975, round(float(df), 2)) * float(one + two) ** 0.5
    return difference_of(a, b, bounds=row.bounds).limits(), 0.0, float(a.mean() - b.mean()), reach


def _slope(row: Generator, x: Array, y: Array) -> Trial:
    off = np.log(x) - np.log(x).mean()
    slope = float(off @ y / (off @ off))
    rest = y - y.mean() - slope * off
    reach = _t(y.size - 2) * float(rest @ rest / (y.size - 2) / (off @ off)) ** 0.5
    return slope_of(x, y, bounds=row.bounds, log=True).limits(), 0.0, slope, reach


def _clusters(draws: np.random.Generator, p: float, clusters: int, icc: float) -> Trial:
    sizes = draws.integers(2, 15, clusters)
    labels = np.repeat(np.arange(clusters), sizes)
    chance = np.full(clusters, p)
    if icc > 0:
        chance = draws.beta(p * (1 / icc - 1), (1 - p) * (1 / icc - 1), clusters)
    values = (draws.random(labels.size) < chance[labels]) * 1.0
    means = np.bincount(labels, weights=values) / sizes
    return mean_of(values, bounds=(0.0, 1.0), clusters=labels).limits(), p, *_student(means)


Measured = Callable[[int], Iterator[Cell]]
