"""Two sides of a comparison: paired wherever their units pair."""

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
from ostrom.analysis.statistics.samples import without_rounding
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


@dataclass(frozen=True)
class TwoSides:
    """Two sides that are ready to be compared: which values pair, what is fixed by design, what is exact."""

    first: Sequence[float]
    second: Sequence[float]
    pairs: Sequence[tuple[Any, ...]] | None
    """What the partners of each pair share; None where the sides are independent samples."""
    units: tuple[Sequence[Sequence[UnitValue]], Sequence[Sequence[UnitValue]]]
    """The units behind every value."""
    names: tuple[Sequence[Any], Sequence[Any]]
    """Which independent unit a value is of, for sides that are not paired."""
    strata: Sequence[Any] | None
    """The condition of each pair, where conditions are fixed by the design."""
    certain: tuple[bool, bool]
    bounds: Bounds
    unit: str
    note: str

    @property
    def n(self) -> int:
        """How many pairs, or how many independent units."""
        return len({*self.names[0], *self.names[1]}) if self.pairs is None else len(self.pairs)

    def inference(self) -> Inference:
        """The mean of the first side minus that of the second."""
        one, two, sure = self.first, self.second, self.certain
        if all(sure):
            a, b = _average(one), _average(two)
            return Exact(without_rounding(a - b, abs(a) + abs(b)))
        if any(sure):
            sign, side = (1.0, 0) if sure[1] else (-1.0, 1)
            drawn, known = (one, two) if sure[1] else (two, one)
            how: dict[str, Any] = {"strata": self.strata}
            if self.pairs is None:
                how = {"clusters": self.names[side]}
            made = mean_of(drawn, bounds=self.bounds, unit=self.unit, **how)
            scaled = tuple(sign * a for a in made.coefficients)
            return replace(made, coefficients=scaled, offset=-sign * _average(known))
        if self.pairs is None:
            return difference_of(one, two, bounds=self.bounds, clusters=self.names, unit=self.unit)
        return paired_difference_of(one, two, bounds=self.bounds, strata=self.strata, unit=self.unit)


def compared(
    found: Observations,
    first: Sequence[Observation],
    second: Sequence[Observation],
    factor: str,
    by: Sequence[str],
) -> tuple[Inference, int, str, str]:
    """The mean of one side minus that of the other: inference, number of units, unit, and a note."""
    made = comparison(found, first, second, factor, by)
    return made.inference(), made.n, made.unit, made.note


def comparison(
    found: Observations,
    first: Sequence[Observation],
    second: Sequence[Observation],
    factor: str,
    by: Sequence[str],
) -> TwoSides:
    """What is compared with what.

    A pair is two values of the same match, or two matches of the same seed in cells that differ in the factor
    alone; where a measure is about scenarios or people, two means of the same one.
    """
    bounds = bounds_of([*first, *second])
    unit = "match" if found.measure.unit == "decision" else found.measure.unit
    pairs = paired(found, first, second, factor, by)
    if len(pairs.keys) < 2:
        sides = [list(per_match(side).values()) for side in (first, second)]
        values = [[u.value for u in side] for side in sides]
        names = [[independent(found.measure, u) for u in side] for side in sides]
        sure = [all(u.exact for u in side) for side in sides]
        return TwoSides(
            values[0], values[1], None, ([[u] for u in sides[0]], [[u] for u in sides[1]]), (names[0], names[1]),
            None, (sure[0], sure[1]), bounds, unit, pairs.note,
        )  # fmt: skip
    notes = [f"{pairs.left} without a partner left out"] if pairs.left else []
    if any(pairs.certain) and not all(pairs.certain):
        notes = ["one side is deterministic", *notes]
    strata = [key[:-1] for key in pairs.keys] if unit == "match" else None
    return TwoSides(
        pairs.first, pairs.second, pairs.keys, pairs.units, ((), ()), strata, pairs.certain, bounds, unit,
        "; ".join(filter(None, (*notes, pairs.note))),
    )  # fmt: skip


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
    units: tuple[list[list[UnitValue]], list[list[UnitValue]]]
    """The units of each pair."""


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
    units = [[side[key] for key in both] for side in keyed]
    return Pairs(both, one, two, (certain[0], certain[1]), left, note, (units[0], units[1]))


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
