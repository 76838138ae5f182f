"""Two sides of a comparison: paired wherever their units pair."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ostrom.analysis.intervals import (
    Bounds,
    Exact,
    Inference,
    difference_of,
    mean_of,
    paired_difference_of,
)
from ostrom.analysis.units import (
    SETTING,
    Observation,
    Observations,
    UnitValue,
    bounds_of,
    independent,
    per_match,
)

Units = Mapping[tuple[Any, ...], UnitValue]


class _HasColumns(Protocol):
    def __getitem__(self, column: str, /) -> Any: ...


def compared(
    found: Observations,
    first: Sequence[Observation],
    second: Sequence[Observation],
    factor: str,
    by: Sequence[str],
) -> tuple[Inference, int, str, str]:
    """The mean of one side minus that of the other: inference, number of units, unit, and a note.

    A pair is two values of the same match, or two matches of the same seed in cells that differ in the factor
    alone; where a measure is about scenarios or people, two means of the same one.
    """
    bounds = bounds_of([*first, *second])
    unit = "match" if found.measure.unit == "decision" else found.measure.unit
    pairs = paired(found, first, second, factor, by)
    note = pairs.note
    if len(pairs.keys) < 2:
        return *_unpaired(found, (per_match(first), per_match(second)), bounds, unit), note
    if pairs.left:
        note = "; ".join(part for part in (f"{pairs.left} without a partner left out", note) if part)
    both, one, two = pairs.keys, pairs.first, pairs.second
    certain = pairs.certain
    strata = [key[:-1] for key in both] if unit == "match" else None
    if all(certain):
        return Exact(_average(one) - _average(two)), len(both), unit, note
    if any(certain):
        sign = 1.0 if certain[1] else -1.0
        drawn, known = (one, two) if certain[1] else (two, one)
        made = mean_of(drawn, bounds=bounds, strata=strata, unit=unit)
        scaled = tuple(sign * a for a in made.coefficients)
        made = replace(made, coefficients=scaled, offset=-sign * _average(known))
        return made, len(both), unit, "; ".join(p for p in ("one side is deterministic", note) if p)
    return paired_difference_of(one, two, bounds=bounds, strata=strata, unit=unit), len(both), unit, note


@dataclass(frozen=True)
class Pairs:
    """Values that pair, in one order on both sides."""

    keys: list[tuple[Any, ...]]
    """What the partners of each pair share."""
    first: list[float]
    second: list[float]
    certain: tuple[bool, bool]
    """Whether a side has no sampling error."""
    left: int
    """How many values have no partner."""
    note: str
    """In what else the sides differ."""


def paired(
    found: Observations,
    first: Sequence[Observation],
    second: Sequence[Observation],
    factor: str,
    by: Sequence[str] = (),
) -> Pairs:
    """The pairs of two sides: the same match, the same seed in cells that differ in the factor alone, or the same
    scenario or person."""
    sides = per_match(first), per_match(second)
    columns, note = _shared_columns(found, first, second, factor, by)
    keyed = [_keyed(found, side, other, columns) for side, other in (sides, sides[::-1])]
    # Sides that differ in more than the factor have no cell in common; only a shared match makes a pair.
    both = [key for key in keyed[0] if key in keyed[1] and (key[0] != "seed" or not note)]
    one, two = ([_mean(side[key]) for key in both] for side in keyed)
    certain = [all(u.exact for key in both for u in side[key]) for side in keyed]
    left = len(keyed[0]) + len(keyed[1]) - 2 * len(both)
    return Pairs(both, one, two, (certain[0], certain[1]), left, note)


def _unpaired(
    found: Observations, sides: tuple[Units, Units], bounds: Bounds, unit: str
) -> tuple[Inference, int, str]:
    values = [[u.value for u in side.values()] for side in sides]
    names = [[independent(found.measure, u) for u in side.values()] for side in sides]
    n = len({*names[0], *names[1]})
    certain = [all(u.exact for u in side.values()) for side in sides]
    if all(certain):
        return Exact(_average(values[0]) - _average(values[1])), n, unit
    if any(certain):
        sign = 1.0 if certain[1] else -1.0
        drawn, known = (0, 1) if certain[1] else (1, 0)
        made = mean_of(values[drawn], bounds=bounds, clusters=names[drawn], unit=unit)
        scaled = tuple(sign * a for a in made.coefficients)
        return replace(made, coefficients=scaled, offset=-sign * _average(values[known])), n, unit
    made = difference_of(*values, bounds=bounds, clusters=(names[0], names[1]), unit=unit)
    return made, n, unit


def _keyed(
    found: Observations, side: Units, other: Units, columns: Sequence[str]
) -> dict[tuple[Any, ...], list[UnitValue]]:
    """The units of a side by what a partner must share."""
    keyed: dict[tuple[Any, ...], list[UnitValue]] = {}
    for name, unit in side.items():
        row = unit.rows[0]
        cell = tuple(row[column] for column in columns)
        if found.measure.unit not in ("match", "decision"):
            key: tuple[Any, ...] = ("unit", independent(found.measure, unit))
        elif name in other:
            same = tuple(row[column] for column in columns if column != "opponents")
            key = ("match", same, name)
        else:
            key = ("seed", cell, row["seed"])
        keyed.setdefault(key, []).append(unit)
    return keyed


def _shared_columns(
    found: Observations,
    first: Sequence[Observation],
    second: Sequence[Observation],
    factor: str,
    by: Sequence[str],
) -> tuple[list[str], str]:
    """The columns in which partners must agree, and a note on those in which the sides never do."""
    names = [c for c in dict.fromkeys(("run", *found.factors, *SETTING)) if c in found.columns]
    names = [name for name in names if name != factor and name not in by]
    shared, confounded = shared_columns(names, first, second)
    return shared, f"the sides also differ in {', '.join(confounded)}" if confounded else ""


def shared_columns(
    names: Sequence[str], first: Sequence[_HasColumns], second: Sequence[_HasColumns]
) -> tuple[list[str], list[str]]:
    """The columns in which partners must agree, and those that confound the comparison.

    A column without a common value either goes with the factor (another name of it), or confounds it.

    >>> shared_columns(["game", "style"], [{"game": "pd", "style": "a"}], [{"game": "pd", "style": "b"}])
    (['game'], [])
    """
    shared, confounded = [], []
    for name in names:
        one, two = ({row[name] for row in side} for side in (first, second))
        if one & two:
            shared.append(name)
        elif name != "run" and max(len(one), len(two)) > 1:
            confounded.append(name)
    return shared, confounded


def _mean(units: Sequence[UnitValue]) -> float:
    return _average([unit.value for unit in units])


def _average(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
