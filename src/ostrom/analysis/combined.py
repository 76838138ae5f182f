"""Sums of level means with weights, such as an interaction: paired wherever all levels were played alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ostrom.analysis.estimate import Estimate, estimated
from ostrom.analysis.intervals import Bounds, Exact, Inference, combination_of, paired_difference_of
from ostrom.analysis.intervals.group import group_of
from ostrom.analysis.measure import Measure, measures
from ostrom.analysis.statistics.samples import without_rounding
from ostrom.analysis.units import Observation, Observations, Runs, Where, bounds_of, observations, per_match
from ostrom.ground.errors import UsageError


def combined(
    data: Runs,
    measure: str | Mapping[str, Any] | Measure,
    factor: str,
    weights: Mapping[Any, float],
    by: Sequence[str] = (),
    *,
    where: Where = None,
) -> list[Estimate]:
    """The sum of weight times mean over levels of a factor, for every combination of the columns ``by``.

    The weights must sum to zero: ``{"a": 1, "b": -1}`` is a difference, ``{"ab": 1, "a": -1, "b": -1, "": 1}`` an
    interaction. Matches with the same seed in cells that differ in the factor alone belong together. A group in which
    a level was not played has no estimate.
    """
    if not weights or abs(math.fsum(weights.values())) > 1e-12:
        raise UsageError(f"the weights of a combination must sum to zero (found {dict(weights)})")
    found = observations(data, measures.named(measure), where)
    found.need([factor])
    made = []
    for key, rows in found.groups(by).items():
        sides = {level: [row for row in rows if row[factor] == level] for level in weights}
        if all(sides.values()):
            inference, n = _inference(found, sides, weights, factor, by)
            made.append(estimated(dict(zip(by, key, strict=True)), inference, n, "match"))
    return made


def _inference(
    found: Observations,
    sides: Mapping[Any, Sequence[Observation]],
    weights: Mapping[Any, float],
    factor: str,
    by: Sequence[str],
) -> tuple[Inference, int]:
    keyed = {level: _by_place(found, rows, factor, by) for level, rows in sides.items()}
    bounds = bounds_of([row for rows in sides.values() for row in rows])
    exact = all(row.exact for rows in sides.values() for row in rows)
    shared = [k for k in next(iter(keyed.values())) if all(k in of for of in keyed.values())]
    if exact or len(shared) < 2:
        return _apart(keyed, weights, bounds, exact)
    total = math.fsum(w for w in weights.values() if w > 0)
    one, two = (
        [
            math.fsum(abs(w) * keyed[level][k] for level, w in weights.items() if w * sign > 0) / total
            for k in shared
        ]
        for sign in (1, -1)
    )
    # Each side is a weighted mean of values within the bounds, so their difference has the bounds of one.
    made = paired_difference_of(one, two, bounds=bounds, strata=[k[:-1] for k in shared])
    return replace(made, coefficients=tuple(total * a for a in made.coefficients)), len(shared)


def _apart(
    keyed: Mapping[Any, Mapping[tuple[Any, ...], float]],
    weights: Mapping[Any, float],
    bounds: Bounds,
    exact: bool,
) -> tuple[Inference, int]:
    """Levels that share no seed, or have no sampling error at all."""
    n = sum(len(of) for of in keyed.values())
    if exact:
        means = {level: math.fsum(of.values()) / len(of) for level, of in keyed.items()}
        terms = [w * means[level] for level, w in weights.items()]
        return Exact(without_rounding(math.fsum(terms), math.fsum(map(abs, terms)))), n
    groups = [group_of(list(keyed[level].values()), bounds=bounds) for level in weights]
    return combination_of(groups, list(weights.values())), n


def _by_place(
    found: Observations, rows: Sequence[Observation], factor: str, by: Sequence[str]
) -> dict[tuple[Any, ...], float]:
    """The mean of the matches with one seed in one cell, by what the other levels share with it."""
    names = [n for n in dict.fromkeys(("run", *found.factors, "game")) if n in found.columns]
    names = [name for name in names if name != factor and name not in by]
    values: dict[tuple[Any, ...], list[float]] = {}
    for unit in per_match(rows).values():
        row = unit.rows[0]
        values.setdefault((*(row[name] for name in names), row["seed"]), []).append(unit.value)
    return {key: math.fsum(of) / len(of) for key, of in values.items()}
