"""What a measure is: a name, a meaning, and one value per unit. No interval, no grouping, no chart.

A measure is one file in ``ostrom.analysis.measures`` or in the folder ``measures`` of a replication (constant
``MEASURE``), or an entry point of the group ``ostrom.measures``. Its values are SQL over the tables of a run
(``matches``, ``decisions``, ``calls``, ``traces``), or a function over the run, that give rows with these columns:

* ``match`` and ``value``; a row without a value is left out, never counted as zero;
* ``player``, where each player of a match has a value of its own; without it the value is the match's;
* ``weight``, where values rest on different amounts of data and their mean should say so;
* any further columns, which results can then be grouped by.

Only finished matches enter a result, so a measure need not ask for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from ostrom.analysis.intervals import Bounds
from ostrom.data.rundata import RunData
from ostrom.data.tables import import_duckdb
from ostrom.ground.errors import UsageError
from ostrom.ground.registry import Registry

Scale = Literal["share", "points", "seconds", "count", "number"]
SCALES: tuple[str, ...] = get_args(Scale)
UnitOfAnalysis = Literal["match", "scenario", "person", "decision"]
INDEPENDENT: Mapping[str, tuple[str, ...]] = {
    "match": ("run", "match"),
    "decision": ("run", "match"),
    "scenario": ("game",),
    "person": ("run", "agent"),
}
"""The columns that say which values belong to one independent unit. Decisions of a match are not independent."""

Rows: TypeAlias = Iterable[Mapping[str, Any]]
Values: TypeAlias = str | Callable[[RunData], Rows]
BoundsOf: TypeAlias = Callable[[RunData], Callable[[int], Bounds]]
"""From a run to the bounds of each of its matches."""

DEFAULT_BOUNDS: Mapping[str, Bounds] = {
    "share": (0.0, 1.0),
    "points": (None, None),
    "seconds": (0.0, None),
    "count": (0.0, None),
    "number": (None, None),
}


@dataclass(frozen=True)
class Measure:
    """One quantity that matches (or scenarios, or people) have.

    >>> Measure("length", "Rounds played", "count", "Rounds of a match.", "SELECT match, 5 AS value").bounds
    (0.0, None)
    """

    name: str
    title: str
    scale: Scale
    definition: str
    """One or two sentences that say what is counted and over what."""
    values: Values
    bounds: Bounds | BoundsOf | None = None
    """What a value can be at least and at most: for all matches, or by match. By default those of the scale."""
    unit: UnitOfAnalysis = "match"
    """What is independent of each other: intervals rest on the spread between these."""
    needs: tuple[str, ...] = ()
    """The columns it reads, as ``table.column``; a run without one cannot be measured."""
    source: str = ""
    """The publication that it comes from."""
    columns: tuple[str, ...] = ()
    """The further columns of its rows: results can be grouped by them even where no match has a value."""

    def __post_init__(self) -> None:
        for what, value, known in (("scale", self.scale, SCALES), ("unit", self.unit, tuple(INDEPENDENT))):
            if value not in known:
                raise UsageError(f"measure {self.name}: {what} {value!r} (allowed: {', '.join(known)})")
        if self.bounds is None:
            object.__setattr__(self, "bounds", DEFAULT_BOUNDS[self.scale])

    def check(self, data: RunData) -> None:
        """Complain if the run lacks a column that the measure reads."""
        for need in self.needs:
            table, _, column = need.partition(".")
            data.need(table, [column])

    def rows(self, data: RunData) -> Rows:
        """The rows of a run."""
        self.check(data)
        if callable(self.values):
            return self.values(data)
        try:
            return data.records(self.values)
        except import_duckdb().Error as problem:
            text = " ".join(str(problem).partition("LINE ")[0].split())
            raise UsageError(f"measure {self.name}: its SQL fails: {text}") from None

    def bounds_of(self, data: RunData) -> Callable[[int], Bounds]:
        """What a value of each match can be at least and at most."""
        if callable(self.bounds):
            return self.bounds(data)
        fixed: Bounds = self.bounds or (None, None)
        return lambda match: fixed  # noqa: ARG005


class Measures(Registry[Measure]):
    """Measures by name. A file may hold the measure itself, or a function that makes it from parameters."""

    def named(self, measure: str | Mapping[str, Any] | Measure) -> Measure:
        """A measure by its name or specification; one that is given as an object is taken as it is."""
        if isinstance(measure, Measure):
            return measure
        if isinstance(measure, str) and measure in self:
            part: Any = self.get(measure)
            if isinstance(part, Measure):
                return part
        return self.build(measure)


measures = Measures("measure", "ostrom.analysis.measures", "MEASURE", "ostrom.measures", folder="measures")
