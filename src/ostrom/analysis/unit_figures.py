"""Weighted means and comparisons of units: sides, weights, and their inference."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ostrom.analysis.intervals import Bounds, Inference, combined, exactly, mean_of
from ostrom.analysis.intervals.betting import FEW
from ostrom.analysis.replicates import distinct_words
from ostrom.analysis.units import SETTING, Observation, Observations, UnitValue, bounds_of, per_match
from ostrom.ground.values import grouped


@lru_cache(2048)
def _place(key: str) -> list[Inference]:  # noqa: ARG001
    """Return the place in which the figure with these units is remembered."""
    return []


@dataclass(frozen=True)
class UnitSide:
    """The units of a mean: values, independent labels, and conditions fixed by the design."""

    values: Sequence[float]
    labels: Sequence[Any]
    conditions: Sequence[Any]
    weights: Sequence[float]
    exact: Sequence[bool]
    units: Sequence[UnitValue] = ()


@dataclass(frozen=True)
class UnitFigure:
    """How the means of sides combine to one figure: coefficients, and shared facts of the values."""

    sides: tuple[tuple[float, UnitSide], ...]
    bounds: Bounds
    unit: str = "match"
    note: str = ""
    shared: bool = False
    clustered: bool = False
    """Whether units are people or scenarios, which conditions do not divide."""
    binary: bool = False
    ratio: bool = False
    most_weight: float | None = None

    @property
    def n(self) -> int:
        """How many independent units."""
        return len({label for _, side in self.sides for label in side.labels})

    @property
    def paired(self) -> bool:
        """Whether sides have units in common."""
        return self.n < sum(len(set(side.labels)) for _, side in self.sides)

    @property
    def certain(self) -> tuple[bool, ...]:
        """Which sides have no sampling error."""
        return tuple(all(side.exact) for _, side in self.sides)

    def pairs(self) -> tuple[list[float], list[float]]:
        """The means of the units that both sides have, in one order."""
        rows = [grouped(zip(side.labels, side.values, strict=True)) for _, side in self.sides[:2]]
        both = [{label: math.fsum(of) / len(of) for label, of in by_label.items()} for by_label in rows]
        labels = [label for label in both[0] if label in both[1]]
        return [both[0][label] for label in labels], [both[1][label] for label in labels]

    def inference(self) -> Inference:
        """The figure with its uncertainty; those of few units are remembered, since a report asks again and again."""
        sides = [(a, s.values, s.labels, s.conditions, s.weights, s.exact) for a, s in self.sides]
        facts = self.unit, self.note, self.shared, self.clustered, self.binary, self.ratio, self.most_weight
        few = sum(len(side.values) for _, side in self.sides) <= FEW
        place = _place(repr((sides, self.bounds, facts))) if few else []
        if not place:
            place.append(self._summed())
        return place[0]

    def _summed(self) -> Inference:
        """Return the sum over sides of coefficient times mean."""
        total = combined([(a, self._mean(side)) for a, side in self.sides])
        cells = {(at, c) for at, (_, side) in enumerate(self.sides) for c in side.conditions}
        one = self.n <= len(cells) and len({condition for _, condition in cells}) < 2
        if one and self.note.endswith(" distinct"):  # nothing says how far another match would lie
            total = replace(total, bets=(), problem="exact at temperature 0", doubt="one distinct match")
        return total

    def _mean(self, side: UnitSide) -> Inference:
        total = math.fsum(side.weights)
        drawn = [i for i, sure in enumerate(side.exact) if not sure]
        fixed = [i for i, sure in enumerate(side.exact) if sure]
        mass = math.fsum(side.weights[i] for i in fixed) / total
        if fixed:
            of = math.fsum(side.weights[i] * side.values[i] for i in fixed) / total / mass
            values = [side.values[i] for i in fixed]
            sure = exactly(min(max(of, min(values)), max(values)))
            if not drawn:
                return sure
        mean = mean_of(
            [side.values[i] for i in drawn], bounds=self.bounds, weights=[side.weights[i] for i in drawn],
            clusters=[side.labels[i] for i in drawn],
            strata=None if self.clustered else [side.conditions[i] for i in drawn],
            unit=self.unit, shared=self.shared, zero_one=self.binary, ratio=self.ratio, most_weight=self.most_weight,
        )  # fmt: skip
        if not fixed:
            return mean
        return replace(
            combined([(1 - mass, mean), (mass, replace(sure, note=""))]),
            note=f"{len(fixed)} of {len(side.values)} values are deterministic and have no sampling error",
        )


def figure(
    observed: Observations,
    sides: Sequence[tuple[float, Sequence[Observation]]],
    without: Sequence[str],
    balance: Sequence[str] = (),
    *,
    runs: bool = False,
    note: str = "",
) -> UnitFigure:
    """A sum of coefficient times mean; ``without`` names the columns that are no condition."""
    names = [n for n in dict.fromkeys((*observed.factors, *SETTING)) if n in observed.columns and n not in without]
    rows = [row for _, of in sides for row in of]
    # What is the same in every value of each side tells no conditions apart.
    names = [n for n in names if any(len({row[n] for row in of}) > 1 for _, of in sides)]
    built_sides = []
    for a, of in sides:
        cells = grouped((tuple(row[name] for name in balance), row) for row in of)
        units = [unit for part in cells.values() for unit in per_match(part).values()]
        weights = balanced(units, [unit.weight for unit in units], balance)
        conditions = [tuple(sorted({tuple(row[n] for n in names) for row in u.rows}, key=repr)) for u in units]
        labels = [observed.label(unit, runs=runs) for unit in units]
        side = UnitSide([u.value for u in units], labels, conditions, weights, [u.exact for u in units], units)
        built_sides.append((a, side))
    measured = any(row.weight is not None for row in rows)
    tops = [[row.most_weight for row in unit.rows] for _, side in built_sides for unit in side.units]
    names_of = measured and not balance and all(top is not None for of in tops for top in of)
    most = max((math.fsum(top or 0.0 for top in of) for of in tops), default=0.0) if names_of else None
    same = {row["match"]: row.twin for row in rows if row.twin is not None}
    note = "; ".join(filter(None, (note, distinct_words(dict.fromkeys(row["match"] for row in rows), same))))
    return UnitFigure(
        tuple(built_sides), bounds_of(rows), observed.unit, note, observed.shared,
        observed.unit not in ("match", "seed"), observed.measure.binary, measured, most,
    )  # fmt: skip


def comparison(
    measured: Observations,
    first: Sequence[Observation],
    second: Sequence[Observation],
    factor: str,
    by: Sequence[str],
    balance: Sequence[str] = (),
) -> UnitFigure:
    """The mean of one side minus that of the other, in the conditions that both have.

    Sides pair where they have units in common: matches, seeds that share something, scenarios, people.
    """
    names = [c for c in dict.fromkeys(("run", *measured.factors, *SETTING)) if c in measured.columns]
    names, confounded = shared_columns([n for n in names if n != factor and n not in by], first, second)
    notes = [f"the sides also differ in {', '.join(confounded)}"] if confounded else []
    cells = [{tuple(row[n] for n in names) for row in side} for side in (first, second)]
    matches = [{(row["run"], row["match"]) for row in side} for side in (first, second)]
    common, together = cells[0] & cells[1], matches[0] & matches[1]
    matching = [
        [r for r in side if tuple(r[n] for n in names) in common or (r["run"], r["match"]) in together]
        for side in (first, second)
    ]
    if all(matching):
        left = sum(len(matches[i] - {(row["run"], row["match"]) for row in matching[i]}) for i in (0, 1))
        notes += [f"{left} without a counterpart left out"] if left else []
        first, second = matching
    sure = [all(row.exact for row in side) for side in (first, second)]
    notes += ["one side is deterministic"] if any(sure) and not all(sure) else []
    return figure(
        measured, [(1.0, first), (-1.0, second)], (factor, *by), balance, runs=factor == "run", note="; ".join(notes)
    )


def shared_columns(
    names: Sequence[str],
    first: Sequence[Observation | Mapping[str, Any]],
    second: Sequence[Observation | Mapping[str, Any]],
) -> tuple[list[str], list[str]]:
    """The columns in which partners must agree, and those that confound the comparison.

    A column without a common value either goes with the factor (another name of it), or confounds it.

    >>> shared_columns(["game", "style"], [{"game": "pd", "style": "a"}], [{"game": "pd", "style": "b"}])
    (['game'], [])
    """
    levels = {name: [{row[name] for row in side} for side in (first, second)] for name in names}
    shared = [name for name, (one, two) in levels.items() if one & two]
    apart = [name for name in levels if name not in shared and name != "run"]
    return shared, [name for name in apart if max(map(len, levels[name])) > 1]


def balanced(units: Sequence[UnitValue], weights: Sequence[float], balance: Sequence[str]) -> list[float]:
    """Weights under which all levels of a column count the same, within levels of the columns before it."""
    weights = list(weights)
    for depth in range(len(balance), 0, -1):
        outer = [tuple(u.rows[0][name] for name in balance[: depth - 1]) for u in units]
        inner = [tuple(u.rows[0][name] for name in balance[:depth]) for u in units]
        mass: dict[Any, float] = {}
        for weight, cell in zip(weights, inner, strict=True):
            mass[cell] = mass.get(cell, 0.0) + weight
        cells = grouped(zip(outer, inner, strict=True))
        weights = [
            weight / mass[cell] / len(set(cells[around]))
            for weight, cell, around in zip(weights, inner, outer, strict=True)
        ]
    return weights
