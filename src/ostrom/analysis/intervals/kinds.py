"""Builds inferences from values. The method follows from the shape of the query, never from the values."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from ostrom.analysis.intervals.betting import Bet
from ostrom.analysis.intervals.inference import ALIKE, Inference, Part, combined, merged, mostly_piled, rounded_sum
from ostrom.analysis.statistics.samples import (
    BadSample,
    Floats,
    Ints,
    Labels,
    Numbers,
    Undefined,
    is_constant,
    label_codes,
    paired_samples,
    same_length,
    sample,
)
from ostrom.ground.words import how_many

Bounds = tuple[float | None, float | None]
"""The smallest and the largest possible value of a unit; None for no bound."""
Log = bool | Literal["1+x"]
FEWEST_CLUSTERS = 5
AT_BOUND, NEAR_BOUND, NEAR = 0.25, 0.5, 0.01
"""Values pile up if this share lies exactly at one bound, or that share within 1 % of the range."""


def exactly(value: float) -> Inference:
    """Return a value without sampling error."""
    return Inference(value, note="deterministic: no sampling error", least=value, most=value)


def checked_bounds(bounds: Bounds) -> Bounds:
    """Return the bounds; refused unless they are finite and ordered, or None."""
    low, high = bounds
    for bound in (low, high):
        if bound is not None and not math.isfinite(bound):
            raise BadSample(f"a bound must be a finite number or None (found {bound!r})")
    if low is not None and high is not None and not low < high:
        raise BadSample(f"the lower bound must be below the upper one (found {low!r} and {high!r})")
    return None if low is None else float(low), None if high is None else float(high)


def mean_of(
    values: Numbers,
    *,
    bounds: Bounds = (None, None),
    weights: Numbers | None = None,
    clusters: Iterable[Hashable] | None = None,
    strata: Labels | None = None,
    unit: str = "match",
    shared: bool = False,
    zero_one: bool = False,
    ratio: bool = False,
    most_weight: float | None = None,
) -> Inference:
    """The weighted mean of values.

    ``clusters`` names the independent unit of every value. ``strata`` names conditions that the design fixes:
    differences between their means are no sampling error. ``shared`` says that units have values in several of them
    (seeds that fix what cells share): they are then added up within a unit first. ``ratio``: the weights came with the
    values and are no part of the design; ``most_weight`` is the largest that one can be. ``zero_one``: a value is the
    outcome of one trial.

    >>> mean_of([0.4, 0.5, 0.9, 0.7, 0.6], bounds=(0, 1)).limits().method
    "Student's t"
    >>> mean_of([1.0] * 8, bounds=(0, 1)).limits().note
    'all 8 alike'
    """
    data, (low, high) = sample(values, "values"), checked_bounds(bounds)
    mass = np.ones(data.size) if weights is None else sample(weights, "weights")
    same_length("weights", mass.size, "values", data.size)
    if mass.min() <= 0:
        raise BadSample(f"weights must be positive (found {mass.min():g})")
    labels = None if clusters is None else list(clusters)
    if labels is not None:
        same_length("clusters", len(labels), "values", data.size)
    scale = high - low if low is not None and high is not None else float(np.abs(data).max()) or 1.0
    data = _within(data, low, high, scale)
    order = np.lexsort((mass, data))  # sorted, so that the order in which matches ended changes no digit
    data, mass = data[order], mass[order]
    labels = None if labels is None else [labels[i] for i in order]
    codes, names = np.zeros(data.size, np.int64), tuple[Hashable, ...]((None,))
    if strata is not None:
        codes, names = label_codes([list(strata)[i] for i in order], data.size, "strata")
    share = mass / math.fsum(mass)
    value = min(max(rounded_sum(math.fsum(share * data), scale), float(data[0])), float(data[-1]))
    note = ""
    members = [np.flatnonzero(codes == code) for code in range(len(names))]
    if len(members) > 1 and not shared and all(len(set(_picked(labels, of) or of)) < 2 for of in members):
        note = f"the {len(members)} conditions are the units"
        members, names = [np.arange(data.size)], (None,)
    parts = [
        _part(data[of], share[of], _picked(labels, of), name, scale, (low, high), ratio=ratio)
        for of, name in zip(members, names, strict=True)
    ]
    words = ["Student's t"]
    if len(parts) > 1 and shared:
        parts = [replace(merged(parts, 1), mean=value, piled=mostly_piled(parts))]
    elif len(parts) > 1:
        words += ["over conditions", *(["pooled"] if any(part.n < 2 for part in parts) else [])]
    elif labels is not None and len(set(labels)) < len(labels):
        words.append("over clusters")
    words += ["jackknife"] * any(part.df is not None for part in parts)
    bets, doubt = _bets(
        data, share, labels, codes, (low, high), shared=shared, ratio=ratio,
        top=most_weight / math.fsum(mass) if ratio and most_weight is not None else None,
    )  # fmt: skip
    counts: tuple[tuple[float, ...], ...] = ()
    trials = zero_one and bool(np.isin(data, (0.0, 1.0)).all())  # the mean of two players is not one trial
    if trials and len(parts) == 1 and (labels is None or len(set(labels)) == len(labels)) and np.ptp(mass) == 0:
        counts, words = ((round(float(data.sum())), data.size),), ["Wilson's score"]
    return Inference(
        value, tuple(parts), bets, unit, ", ".join(words), note, doubt,
        -math.inf if low is None else low, math.inf if high is None else high, counts,
    )  # fmt: skip


def _picked(labels: Sequence[Hashable] | None, places: Ints) -> list[Hashable] | None:
    return None if labels is None else [labels[i] for i in places]


def _within(data: Floats, low: float | None, high: float | None, scale: float) -> Floats:
    """Return the values clipped to the bounds where they miss them by rounding; larger misses are an error."""
    for bound, sign in ((low, 1), (high, -1)):
        if bound is not None:
            beyond = float((sign * (bound - data)).max())
            if beyond > ALIKE * scale:
                raise BadSample(f"values: {bound - sign * beyond:g} lies beyond the bound {bound:g}")
            data = np.where(np.abs(data - bound) <= ALIKE * scale, bound, data)
    return data


def _part(
    data: Floats, share: Floats, labels: Sequence[Hashable] | None, name: Hashable, scale: float, bounds: Bounds,
    *, ratio: bool,
) -> Part:  # fmt: skip
    """Return the units of one condition; values of one unit are summed with their weights.

    Weights of the design (seats) are linearised. Where chance decides about weights too (``ratio``) the variance is the
    jackknife's, what leaving each unit out would change, with t of Kish's effective number of units - 1. Units that
    weigh the same have Student's t both ways.
    """
    total = math.fsum(share)
    mean = min(max(rounded_sum(math.fsum(share * data) / total, scale), float(data.min())), float(data.max()))
    influence = share * (data - mean)
    if float(np.ptp(data)) <= ALIKE * scale:
        influence = np.zeros(data.size)
    codes = {label: at for at, label in enumerate(dict.fromkeys(range(data.size) if labels is None else labels))}
    places = np.arange(data.size) if labels is None else np.array([codes[label] for label in labels])
    n, mass = len(codes), np.bincount(places, weights=share) / total
    sums: Floats = np.bincount(places, weights=influence).astype(np.float64)
    sums[np.abs(sums) <= 1e-15 * scale] = 0.0
    df = None
    if ratio and n > 1 and np.ptp(mass) > ALIKE:
        sums, df = sums * (n - 1) / n / (1 - mass), max(1.0, 1 / float(mass @ mass) - 1)
    piled = _piled(data, share / total, bounds)
    return Part(sums, None if labels is None else tuple(codes), name, total, mean, df=df, piled=piled)


def _piled(data: Floats, share: Floats, bounds: Bounds) -> bool:
    """Return whether values pile up at one bound: then Student's t covers less than stated."""
    low, high = bounds
    mean, at_bound = float(share @ data), False
    sd = math.sqrt(max(0.0, float(share @ (data - mean) ** 2)) * data.size / max(1, data.size - 1))
    width = None if low is None or high is None else high - low
    for bound in (low, high):
        if bound is not None and sd > 0:
            off = np.abs(data - bound)
            near = float(share[off <= NEAR * width].sum()) if width else 0.0
            at_bound |= float(share[off == 0].sum()) >= AT_BOUND or near >= NEAR_BOUND or abs(mean - bound) < sd
    return at_bound


def _bets(
    data: Floats, share: Floats, labels: Sequence[Hashable] | None, codes: Ints, bounds: Bounds,
    *, shared: bool, ratio: bool, top: float | None = None,
) -> tuple[tuple[Bet, ...], str]:  # fmt: skip
    """Return the bets: on independent units, on units present in all conditions, or on each condition."""
    low, high = bounds
    if low is None or high is None:
        return (), "the measure has no declared bounds"
    values = np.clip((data - low) / (high - low), 0.0, 1.0)
    if ratio and top is not None and (labels is None or len(set(labels)) == len(labels)):
        if share.max() > top * (1 + 1e-9):
            raise BadSample("weights: one of them is above the largest weight that is declared")
        return (Bet(values, share, low, high, None if labels is None else tuple(labels), top=top),), ""
    if ratio and np.ptp(share) > 1e-12:
        return (), "it is a ratio whose largest weight is not declared"
    if labels is None:
        return (Bet(values, share, low, high),), ""
    places = {label: at for at, label in enumerate(dict.fromkeys(labels))}
    rows = np.array([places[label] for label in labels])
    total: Floats = np.bincount(rows, weights=share).astype(np.float64)
    mean = np.clip(np.bincount(rows, weights=share * values) / total, 0.0, 1.0)
    many = int(codes.max()) + 1
    seen = np.zeros((len(places), many))
    np.add.at(seen, (rows, codes), share)
    one_bet = many == 1 or not shared or float(np.ptp(seen, axis=0).max()) <= 1e-12
    if one_bet and (shared or many == 1 or np.count_nonzero(seen) == len(places)):
        return (Bet(mean, total, low, high, tuple(places)),), ""
    return tuple(
        bet.times(float(share[of].sum()))
        for code in range(many)
        for of in [np.flatnonzero(codes == code)]
        for bet in _bets(data[of], share[of] / share[of].sum(), _picked(labels, of), codes[of] * 0, bounds,
                         shared=False, ratio=False)[0]
    ), ""  # fmt: skip


def share_of(successes: int, n: int, *, unit: str = "match") -> Inference:
    """The share of successes among n independent trials.

    >>> found = share_of(8, 10).limits()
    >>> round(found.low, 2), round(found.high, 2)
    (0.49, 0.94)
    """
    if successes != int(successes) or n != int(n) or not 0 <= successes <= n or n < 1:
        raise BadSample(f"needs whole numbers with 0 <= successes <= n, n >= 1 (found {successes} of {n})")
    return mean_of(np.repeat([0.0, 1.0], [n - successes, successes]), bounds=(0, 1), unit=unit, zero_one=True)


def difference_of(
    first: Numbers,
    second: Numbers,
    *,
    bounds: Bounds = (None, None),
    weights: tuple[Numbers | None, Numbers | None] = (None, None),
    clusters: tuple[Iterable[Hashable], Iterable[Hashable]] | None = None,
    unit: str = "match",
    zero_one: bool = False,
) -> Inference:
    """The mean of one sample minus that of another; units with the same cluster pair."""
    one, two = (
        mean_of(values, bounds=bounds, weights=mass, clusters=of, unit=unit, zero_one=zero_one)
        for values, mass, of in zip(
            (first, second), weights, (None, None) if clusters is None else clusters, strict=True
        )
    )
    return combined([(1.0, one), (-1.0, two)])


def paired_difference_of(
    first: Numbers,
    second: Numbers,
    *,
    bounds: Bounds = (None, None),
    weights: Numbers | None = None,
    unit: str = "match",
    zero_one: bool = False,
) -> Inference:
    """The mean difference of pairs: row i of both samples belongs together.

    >>> paired_difference_of([1, 1, 1], [0, 0, 0], bounds=(0, 1)).p_value()  # the sign test
    0.25
    """
    a, b = paired_samples(first, second)
    rows = range(a.size)
    return difference_of(
        a, b, bounds=bounds, weights=(weights, weights), clusters=(rows, rows), unit=unit, zero_one=zero_one
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
    shared: bool = False,
    weights: Numbers | None = None,
) -> Inference:
    """The least-squares slope of y over x (ln x, or ln(1 + x) with ``log="1+x"``), within ``strata``.

    ``weights`` are what units count, such as the seats of an agent in a match; by default all count the same.

    With ``shared`` every cluster (a seed) has its own slope, and the interval is Student's t over these. Otherwise
    the errors are robust: HC3 (MacKinnon & White 1985) with t(N - 2), or clustered with t(clusters - 1).
    """
    a, b = paired_samples(x, y, ("x", "y"), at_least=2)
    a, (low, high) = _logarithm(a, log), checked_bounds(bounds)
    if is_constant(a):
        raise Undefined(f"slope is undefined: x is constant at {a[0]:g}")
    labels = None if clusters is None else list(clusters)
    codes = np.zeros(a.size, np.int64) if strata is None else label_codes(strata, a.size, "strata")[0]
    rows = np.lexsort((b, a, codes))
    a, b, codes = a[rows], b[rows], codes[rows]
    w = np.ones(a.size) if weights is None else np.asarray(weights, np.float64)[rows]
    labels = None if labels is None else [labels[i] for i in rows]
    size = np.bincount(codes, weights=w)
    if shared and labels is not None:
        # Conditions of one seed are averaged: a seed's slope is computed within each of them.
        _, codes = np.unique(np.column_stack([codes, label_codes(labels, a.size)[0]]), axis=0, return_inverse=True)
        codes, size = codes.ravel(), np.bincount(codes.ravel(), weights=w)
    off = a - (np.bincount(codes, weights=w * a) / size)[codes]
    square = float(w * off @ off)
    if square <= 1e-12 * float(w * a @ a):
        return slope_of(a, b, bounds=bounds, clusters=labels, unit=unit, weights=w)
    pull = w * off / square
    value = rounded_sum(float(pull @ b), float(np.abs(pull) @ np.abs(b)))
    ends = -math.inf if low is None else low, math.inf if high is None else high
    least, most = (math.fsum(p * ends[(p > 0) == up] for p in pull.tolist() if p) for up in (False, True))
    inference = Inference(value, (), (), unit, "", least=least, most=most)
    if shared and labels is not None:
        return _seed_slopes(inference, off, w, b, labels, (low, high))
    rest = b - ((np.bincount(codes, weights=w * b) / size)[codes] + value * off)
    rest[np.abs(rest) <= ALIKE * max(1.0, float(np.abs(b).max()))] = 0.0
    bets: tuple[Bet, ...] = ()
    if low is not None and high is not None and (labels is None or len(set(labels)) == len(labels)):
        ups = np.where(pull > 0, b - low, high - b) / (high - low)
        bets = (
            Bet(
                np.clip(ups, 0, 1),
                np.abs(pull) / np.abs(pull).sum(),
                least,
                most,
                None if labels is None else tuple(labels),
                pull > 0,
            ),
        )
    ways = math.exp(
        math.lgamma(a.size + 1) - math.fsum(math.lgamma(n + 1) for n in np.unique(a, return_counts=True)[1])
    )
    if labels is not None and len(set(labels)) < len(labels):
        group, names = label_codes(labels, a.size)
        sums = np.bincount(group, weights=pull * rest).astype(np.float64)
        few = f"too few clusters: {len(names)}, at least {FEWEST_CLUSTERS} are needed"
        return replace(
            inference, parts=(Part(sums, names),), method="least squares, clustered errors",
            problem=few if len(names) < FEWEST_CLUSTERS else "",
            doubt="its clusters have values at several levels", arrangements=ways,
        )  # fmt: skip
    leverage = w / size[codes] + w * off**2 / square
    with np.errstate(divide="ignore", invalid="ignore"):
        robust = np.where(rest == 0, 0.0, pull * rest / (1 - leverage))
    free = a.size - size.size - 1
    fewest = int(np.unique(np.column_stack([codes, np.round(a, 12)]), axis=0, return_counts=True)[1].min())
    part = Part(
        np.nan_to_num(robust, posinf=0, neginf=0), None if labels is None else tuple(labels), centred=0,
        df=float(max(free, 1)),
    )  # fmt: skip
    return replace(
        inference, parts=(part,), bets=bets, method="least squares, HC3",
        note="" if fewest >= FEWEST_CLUSTERS else f"caution: {how_many(fewest, unit)} at some level",
        problem="" if free > 0 and np.isfinite(robust).all() else "too few units for a line and its errors",
        doubt="" if bets else "the measure has no declared bounds", arrangements=ways,
    )  # fmt: skip


def _seed_slopes(
    inference: Inference, off: Floats, w: Floats, y: Floats, labels: Sequence[Hashable], bounds: Bounds
) -> Inference:
    """Return Student's t over the slopes of single seeds, weighted by each seed's spread of x."""
    codes, names = label_codes(labels, y.size)
    weight = np.bincount(codes, weights=w * off**2)
    slopes = np.divide(np.bincount(codes, weights=w * off * y), weight, out=np.zeros(len(names)), where=weight > 0)
    has_weight = weight > 0
    low, high = bounds
    ends: Bounds = (None, None)
    if low is not None and high is not None:
        reach = np.bincount(codes, weights=w * np.abs(off))[has_weight] / weight[has_weight] * (high - low) / 2
        ends = (-float(reach.max()), float(reach.max()))
    inside = [name for name, ok in zip(names, has_weight, strict=True) if ok]
    mean = mean_of(np.clip(slopes[has_weight], *(ends if ends[0] is not None else (-np.inf, np.inf))), bounds=ends,
                   weights=weight[has_weight], clusters=inside, unit="seed")  # fmt: skip
    return replace(mean, method="Student's t over the slopes of seeds", unit=inference.unit)


def _logarithm(x: Floats, log: Log) -> Floats:
    if log is False:
        return x
    least = 0.0 if log is True else -1.0
    if float(x.min()) <= least:
        hint = '; log="1+x" takes ln(1 + x)' if log is True and float(x.min()) > -1 else ""
        raise BadSample(f"x: the logarithm needs values above {least:g} (found {x.min():g}{hint})")
    return np.log(x) if log is True else np.log1p(x)
