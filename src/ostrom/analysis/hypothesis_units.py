"""The values that a test compares: one per unit of analysis and combination of levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ostrom.analysis.estimate import PLURAL
from ostrom.analysis.units import Observation, Observations, UnitValue, independent, per_match
from ostrom.ground.errors import UsageError


@dataclass(frozen=True)
class SampleRow:
    """One value: its levels, the unit it belongs to, and its cluster."""

    levels: tuple[Any, ...]
    unit: tuple[Any, ...]
    cluster: tuple[Any, ...]
    value: float
    exact: bool


@dataclass(frozen=True)
class Sample:
    """Everything that a test compares."""

    found: Observations
    factors: tuple[str, ...]
    clusters: tuple[str, ...]
    observed: tuple[Observation, ...]
    """The values behind the rows: those that have a level of every factor."""
    missing: int
    """How many values have none."""

    @property
    def unit(self) -> str:
        """The unit of analysis."""
        return "match" if self.found.measure.unit == "decision" else self.found.measure.unit

    @property
    def units(self) -> str:
        """The unit in the plural."""
        return PLURAL.get(self.unit, f"{self.unit}s")

    @cached_property
    def levels(self) -> dict[str, list[Any]]:
        """The levels of every factor, in the order of the study."""
        return {
            name: [key for (key,) in self.found.groups([name]) if any(o[name] == key for o in self.observed)]
            for name in self.factors
        }

    @cached_property
    def rows(self) -> tuple[SampleRow, ...]:
        """One row per unit, combination of levels and cluster, in the order of the study."""
        made = []
        for levels in self._combinations():
            here = [o for o in self.observed if tuple(o[name] for name in self.factors) == levels]
            parts: dict[tuple[Any, ...], list[UnitValue]] = {}
            for cluster, rows in _split(here, self.clusters).items():
                for of_match in per_match(rows).values():
                    key = (*cluster, independent(self.found.measure, of_match))
                    parts.setdefault(key, []).append(of_match)
            made += [
                SampleRow(levels, key[-1], key[:-1], _mean(of), all(u.exact for u in of))
                for key, of in parts.items()
            ]
        return tuple(made)

    def _combinations(self) -> list[tuple[Any, ...]]:
        met = {tuple(o[name] for name in self.factors) for o in self.observed}
        places = [{level: i for i, level in enumerate(self.levels[name])} for name in self.factors]
        return sorted(met, key=lambda key: [place[v] for place, v in zip(places, key, strict=True)])

    @cached_property
    def repeated(self) -> int:
        """How many units have values at more than one combination of levels."""
        seen: dict[tuple[Any, ...], set[tuple[Any, ...]]] = {}
        for row in self.rows:
            seen.setdefault(row.unit, set()).add(row.levels)
        return sum(len(levels) > 1 for levels in seen.values())

    def at(self, level: Any) -> list[SampleRow]:
        """The rows at a level of the first factor."""
        return [row for row in self.rows if row.levels[0] == level]

    def side(self, level: Any) -> list[Observation]:
        """The values at a level of the first factor, before they are averaged."""
        return [o for o in self.observed if o[self.factors[0]] == level]

    def model_rows(self, method: str) -> tuple[SampleRow, ...]:
        """The rows of a model: those of units, or every player's value where the unit itself is the cluster."""
        if self.clusters or method == "glm":
            return self.rows
        measure = self.found.measure
        single = [UnitValue([o]) for o in self.observed]
        return tuple(
            SampleRow(
                tuple(u.rows[0][name] for name in self.factors),
                independent(measure, u), independent(measure, u), u.value, u.exact,
            )
            for u in single
        )  # fmt: skip

    def groups(self) -> list[dict[str, Any]]:
        """Number of units, mean and standard deviation of every combination of levels."""
        made = []
        for levels in self._combinations():
            values = [row.value for row in self.rows if row.levels == levels]
            mean = math.fsum(values) / len(values)
            spread = (
                math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
                if len(values) > 1
                else None
            )
            named = dict(zip(self.factors, levels, strict=True))
            made.append({**named, self.units: len(values), "mean": mean, "sd": spread})
        return made

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know about these values whatever the method."""
        made = []
        if self.missing:
            made.append(f"{self.missing} values without a level of {' and '.join(self.factors)} are left out")
        exact = sum(row.exact for row in self.rows)
        if exact:
            made.append(
                f"{exact} of {len(self.rows)} values come from deterministic players and have no sampling error: "
                "more seeds repeat them, so p-values do not apply to them"
            )
        if any(o.weight is not None for o in self.observed):
            made.append(f"{self.found.measure.name} weighs its values; here all {self.units} count the same")
        return tuple(made)


def sampled(found: Observations, factors: Sequence[str], clusters: Sequence[str] = ()) -> Sample:
    """The values of a measure by the levels of one factor or two; complains where there is nothing to compare."""
    found.need([*factors, *clusters])
    if not found.rows:
        raise UsageError(f"no finished match that is asked for has a value of {found.measure.name}")
    known = [o for o in found.rows if all(o[name] is not None for name in factors)]
    made = Sample(found, tuple(factors), tuple(clusters), tuple(known), len(found.rows) - len(known))
    if known and all(o.exact for o in known):
        raise UsageError(
            f"{found.measure.name}: all values come from deterministic players, which have no sampling error: there "
            "is nothing to test; `ostrom estimate` gives the exact differences"
        )
    for name in factors:
        if len(made.levels[name]) < 2:
            listed = ", ".join(map(str, made.levels[name])) or "none"
            raise UsageError(f"factor {name}: a test needs at least 2 levels with values (found {listed})")
    return made


def _split(rows: Sequence[Observation], columns: Sequence[str]) -> dict[tuple[Any, ...], list[Observation]]:
    parts: dict[tuple[Any, ...], list[Observation]] = {}
    for row in rows:
        parts.setdefault(tuple(row[name] for name in columns), []).append(row)
    return parts


def _mean(units: Sequence[UnitValue]) -> float:
    return math.fsum(u.value for u in units) / len(units)
