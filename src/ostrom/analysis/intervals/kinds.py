"""From data to an inference: means, shares, differences, slopes, and combinations of group means."""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from ostrom.analysis.intervals.group import (
    TOGETHER,
    Bounds,
    Group,
    checked_bounds,
    count_group,
    group_of,
)
from ostrom.analysis.intervals.limits import Combination, Limits
from ostrom.analysis.statistics.samples import (
    ROUNDING,
    BadSample,
    Floats,
    Ints,
    Labels,
    Numbers,
    Undefined,
    checked_level,
    is_constant,
    label_codes,
    paired_samples,
    same_length,
    sample,
)

Log = bool | Literal["1+x"]


class Inference(Protocol):
    """A value that can say how uncertain it is."""

    @property
    def value(self) -> float:
        """The estimate."""
        ...

    def limits(self, level: float = 0.95) -> Limits:
        """The value with its interval at a level of confidence."""
        ...

    def guaranteed(self, level: float = 0.95) -> Limits:
        """The value with bounds that hold for every distribution."""
        ...


@dataclass(frozen=True, slots=True)
class Exact:
    """A value without sampling error: played again it would be the same."""

    value: float
    note: str = "deterministic: no sampling error"

    def limits(self, level: float = 0.95) -> Limits:
        """The value itself, at any level."""
        checked_level(level)
        return Limits(self.value, self.value, self.value, "exact", self.note)

    guaranteed = limits


def mean_of(
    values: Numbers,
    *,
    bounds: Bounds = (None, None),
    weights: Numbers | None = None,
    clusters: Iterable[Hashable] | None = None,
    strata: Labels | None = None,
    unit: str = "match",
) -> Combination:
    """The mean of independent values.

    ``clusters`` names what is independent where values are not: their means are then the sample, weighted by
    size. ``strata`` names conditions that the design fixes (games, opponents): differences between their means
    are no sampling error. The value is the weighted mean in every case.

    >>> mean_of([0.4, 0.5, 0.9, 0.7, 0.6], bounds=(0, 1)).limits().method
    'bounded t'
    >>> low = mean_of([1.0] * 8, bounds=(0, 1)).limits().low  # all alike is not certainty
    >>> round(low, 2)
    0.63
    """
    data = sample(values, "values")
    mass = np.ones(data.size) if weights is None else sample(weights, "weights")
    same_length("weights", mass.size, "values", data.size)
    labels = None if clusters is None else list(clusters)
    members, note = _conditions(data.size, strata, labels, unit)
    groups = [
        group_of(data[of], bounds=bounds, weights=mass[of], clusters=_picked(labels, of)) for of in members
    ]
    shares = tuple(float(mass[of].sum() / mass.sum()) for of in members)
    method = "bounded t" if None not in bounds else "t"
    doubt = _doubt([_picked(labels, of) for of in members], unit)
    return Combination(tuple(groups), shares, unit, method + _over(labels, members), note, doubt=doubt)


def share_of(successes: int, n: int, *, unit: str = "match") -> Combination:
    """The share of successes among n independent units: the mean of zeros and ones.

    >>> found = share_of(8, 10).limits()
    >>> round(found.low, 2), round(found.high, 2)
    (0.44, 0.97)
    """
    return Combination((count_group(successes, n),), (1.0,), unit)


def difference_of(
    first: Numbers,
    second: Numbers,
    *,
    bounds: Bounds = (None, None),
    weights: tuple[Numbers | None, Numbers | None] = (None, None),
    clusters: tuple[Iterable[Hashable], Iterable[Hashable]] | None = None,
    unit: str = "match",
) -> Combination:
    """The mean of one sample minus that of another, independent one."""
    inside = (None, None) if clusters is None else tuple(map(list, clusters))
    groups = [
        group_of(values, bounds=bounds, weights=mass, clusters=of, name=name)
        for values, mass, of, name in zip((first, second), weights, inside, ("first", "second"), strict=True)
    ]
    return replace(combination_of(groups, (1.0, -1.0), unit=unit), doubt=_doubt(inside, unit))


def paired_difference_of(
    first: Numbers,
    second: Numbers,
    *,
    bounds: Bounds = (None, None),
    weights: Numbers | None = None,
    clusters: Iterable[Hashable] | None = None,
    strata: Labels | None = None,
    unit: str = "match",
) -> Combination:
    """The mean difference of pairs: row i of both samples belongs together.

    A pair that was not seen may differ as much as two values can, in the other direction too: three pairs that all
    differ by +1 say as little as the sign test does.

    >>> round(paired_difference_of([1, 1, 1], [0, 0, 0], bounds=(0, 1)).limits().low, 2)
    -0.42
    """
    a, b = paired_samples(first, second)
    mass = np.ones(a.size) if weights is None else sample(weights, "weights")
    same_length("weights", mass.size, "pairs", a.size)
    low, high = checked_bounds(bounds)
    labels = None if clusters is None else list(clusters)
    members, note = _conditions(a.size, strata, labels, unit)
    between: Bounds = (None, None) if low is None or high is None else (low - high, high - low)
    off = a - b
    off[np.abs(off) <= ROUNDING * max(float(np.abs(a).max()), float(np.abs(b).max()))] = 0.0
    # Differences have twice the range of values, and what is nearly alike is no more than it is for values.
    groups = [
        group_of(
            off[of], bounds=between, weights=mass[of], clusters=_picked(labels, of), together=TOGETHER / 2
        )
        for of in members
    ]
    shares = tuple(float(mass[of].sum() / mass.sum()) for of in members)
    method = "paired bounded t" if None not in (low, high) else "paired t"
    doubt = _doubt([_picked(labels, of) for of in members], unit)
    return Combination(tuple(groups), shares, unit, method + _over(labels, members), note, doubt=doubt)


def combination_of(
    groups: Sequence[Group], coefficients: Sequence[float], *, unit: str = "match", method: str = ""
) -> Combination:
    """Any sum of coefficient times group mean, such as an interaction; groups come from ``group_of``."""
    same_length("coefficients", len(coefficients), "groups", len(groups))
    bounded = all(g.low is not None and g.high is not None for g in groups)
    return Combination(
        tuple(groups), tuple(map(float, coefficients)), unit, method or ("bounded t" if bounded else "t")
    )


def slope_of(
    x: Numbers,
    y: Numbers,
    *,
    bounds: Bounds = (None, None),
    log: Log = False,
    clusters: Iterable[Hashable] | None = None,
    strata: Labels | None = None,
    unit: str = "match",
) -> Combination:
    """The least-squares slope of y over x, or over ln x, or over ln(1 + x) with ``log="1+x"``.

    Where every level of x has two units or more, the interval rests on their spread within levels (and within
    ``strata``, where each has two at every level) and assumes no straight line; otherwise on the residuals of
    the line. ``bounds`` are those of y.
    """
    a, b = paired_samples(x, y, ("x", "y"), at_least=2)
    a = _logarithm(a, log)
    if is_constant(a):
        raise Undefined(f"slope is undefined: x is constant at {a[0]:g}")
    labels = None if clusters is None else list(clusters)
    off = a - a.mean()
    pull = off / float(off @ off)
    _, codes = np.unique(a, return_inverse=True)
    if strata is not None:
        finer = label_codes(strata, a.size, "strata")[0]
        cells = np.unique(np.column_stack([codes, finer]), axis=0, return_inverse=True)[1].ravel()
        if np.bincount(cells).min() > 1:
            codes = cells
    members = [np.flatnonzero(codes == code) for code in range(int(codes.max()) + 1)]
    named = [_picked(labels, of) for of in members]
    groups = [
        group_of(b[of], bounds=bounds, clusters=names, name="y")
        for of, names in zip(members, named, strict=True)
    ]
    coefficients = [float(pull[of].sum()) for of in members]
    made = replace(combination_of(groups, coefficients, unit=unit), doubt=_doubt(named, unit))
    if all(group.count > 1 for group in groups):
        return replace(made, method=f"{made.method} within levels")
    if labels is not None:
        return replace(made, method="none")
    centres = [float(off[codes == code][0]) for code in range(len(groups))]
    return _from_residuals(made, centres, a.size, b)


def _from_residuals(combination: Combination, off: Sequence[float], n: int, y: Floats) -> Combination:
    """A slope whose levels have too few units of their own: all share the variance around the line."""
    if n < 3:
        return replace(combination, method="none")
    groups, slope = combination.groups, combination.value
    whole = group_of(y, bounds=(groups[0].low, groups[0].high))
    line = [whole.mean + slope * x for x in off]
    rest = math.fsum(
        g.count * (g.mean - at) ** 2 + g.variance * g.n * (g.n - 1)
        for g, at in zip(groups, line, strict=True)
    )
    variance = rest / (n - 2)
    shared = tuple(
        replace(g, variance=variance / g.count, other=0.0, piled=whole.piled if g.count == 1 else g.piled)
        for g in groups
    )
    note = "some levels have a single unit: the interval assumes a straight line"
    return replace(combination, groups=shared, df=float(n - 2), method="t around the line", note=note)


def _logarithm(x: Floats, log: Log) -> Floats:
    if log is False:
        return x
    least = 0.0 if log is True else -1.0
    if float(x.min()) <= least:
        hint = '; log="1+x" takes ln(1 + x)' if log is True and float(x.min()) > -1 else ""
        raise BadSample(f"x: the logarithm needs values above {least:g} (found {x.min():g}{hint})")
    logarithm: Floats = np.log(x) if log is True else np.log1p(x)
    return logarithm


def _doubt(named: Sequence[Sequence[Hashable] | None], unit: str) -> str:
    """Why groups are not independent of each other, by the names of their units."""
    names = [name for of in named for name in set(of or ())]
    return f"a {unit} has values in several groups" if len(set(names)) < len(names) else ""


def _picked(labels: Sequence[Hashable] | None, places: Ints) -> list[Hashable] | None:
    return None if labels is None else [labels[i] for i in places]


def _over(labels: Sequence[Hashable] | None, members: Sequence[Ints]) -> str:
    """What the method's name says of clusters and conditions."""
    return (" over clusters" if labels is not None else "") + (
        " within conditions" if len(members) > 1 else ""
    )


def _conditions(
    size: int, strata: Labels | None, labels: Sequence[Hashable] | None, unit: str
) -> tuple[list[Ints], str]:
    """The places of each condition, and a note on what was pooled.

    A condition needs two independent units: single ones are pooled, a last single one with the smallest.
    """
    if strata is None:
        return [np.arange(size)], ""
    codes = label_codes(strata, size, "strata")[0]
    counts = np.bincount(codes)
    if labels is None and counts.min() > 1:
        return [np.flatnonzero(codes == code) for code in range(counts.size)], ""
    members: dict[int, set[Hashable]] = {}
    for place, code in enumerate(codes.tolist()):
        members.setdefault(code, set()).add(place if labels is None else labels[place])
    single = sorted(code for code, of in members.items() if len(of) < 2)
    if not single or len(members) == 1:
        return [np.flatnonzero(codes == code) for code in sorted(members)], ""
    if len(single) == 1:
        rest = [code for code in members if code not in single]
        single.append(min(rest, key=lambda code: (len(members[code]), code)))
    codes = np.where(np.isin(codes, single), single[0], codes)
    note = f"{len(single)} conditions were pooled, as some have a single {unit}"
    return [np.flatnonzero(codes == code) for code in np.unique(codes)], note
