"""Measures: a name, a definition, and one value per unit; no intervals, groups or charts.

A measure is declared in a YAML file of ``ostrom.analysis.measures`` or of a replication (``measures.yaml``, or any
YAML file of its folder ``measures``), or is one Python file there (constant ``MEASURE``), or an entry point of the
group ``ostrom.measures``. Its values are SQL over the tables of a run (``matches``, ``rounds``, ``decisions``,
``calls``, ``traces``; of ``rounds`` and ``decisions`` those that were not copied from another run, and that a
condition on ``what`` leaves), or a function over the run, that give rows with these columns:

* ``match`` and ``value``; a row without a value is left out, never counted as zero;
* ``player``, where each player of a match has a value of its own; without it the value is the match's;
* ``weight``, where values rest on different amounts of data and their mean should say so;
* any further columns, which results can then be grouped by.

Only finished matches enter a result, so a measure need not ask for them.

A declared measure has the fields of ``Measure`` under its name; ``function: module:name`` stands in place of ``values``
where SQL cannot say them, with ``of`` for its further argument. ``by_round`` holds what is different in the form that
has a row per round (``NAME_by_round``); a measure that has it and no values of its own is the mean over rounds.
``measure: module:name`` names a Python object instead, or with ``with`` the function that makes it from these values.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from importlib import import_module
from importlib.resources.abc import Traversable
from typing import Any, Literal, TypeAlias, get_args

from ostrom.analysis.intervals import Bounds
from ostrom.data.rundata import RunData
from ostrom.data.tables import import_duckdb
from ostrom.ground.errors import StudyError, UnknownName, UsageError, unknown_key
from ostrom.ground.registry import Registry, package_folder
from ostrom.ground.yaml import read_yaml

Scale = Literal["share", "points", "seconds", "count", "number"]
SCALES: tuple[str, ...] = get_args(Scale)
UnitOfAnalysis = Literal["match", "scenario", "person", "decision"]
INDEPENDENT: Mapping[str, tuple[str, ...]] = {
    "match": ("run", "match"),
    "decision": ("run", "match"),
    "scenario": ("game",),
    "person": ("run", "agent"),
}
"""The columns that identify an independent unit. Decisions of one match are not independent."""

Rows: TypeAlias = Iterable[Mapping[str, Any]]
Values: TypeAlias = str | Callable[[RunData], Rows]
BoundsOf: TypeAlias = Callable[[RunData], Callable[[int], Bounds]]
"""A function from a run to the bounds of each of its matches."""

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
    """One or two sentences: what is counted, and over what."""
    values: Values
    bounds: Bounds | BoundsOf | None = None
    """The smallest and largest possible value, for all matches or by match; by default those of the scale."""
    unit: UnitOfAnalysis = "match"
    """The independent unit: intervals rest on the spread between these."""
    needs: tuple[str, ...] = ()
    """The columns it reads, as ``table.column``; a run without one cannot be measured."""
    source: str = ""
    """The publication that defines it."""
    columns: tuple[str, ...] = ()
    """Further columns of its rows: results can be grouped by them even if no match has a value."""
    former: tuple[tuple[str, str, str], ...] = ()
    """Column, old level and new level of renamed levels; conditions may still use the old ones."""
    without: str = ""
    """Why a match or a player may have no value."""
    binary: bool = False
    """Whether a unit's value is the outcome of one trial, 0 or 1."""
    better: Literal["", "higher", "lower"] = ""
    """Which direction is better, if declared; `ostrom compare` then says better and worse."""
    own_moves: bool = False
    """Whether a player's value depends on its own moves alone."""
    most_weight: Callable[[RunData], Callable[[int], float | None]] | None = None
    """For a weighted measure: the largest possible weight of a value of each match."""

    def __post_init__(self) -> None:
        better = self.better or "higher"
        for what, value, allowed in (
            ("scale", self.scale, SCALES),
            ("unit", self.unit, tuple(INDEPENDENT)),
            ("better", better, ("higher", "lower")),
        ):
            if value not in allowed:
                raise UsageError(f"measure {self.name}: {what} {value!r} (allowed: {', '.join(allowed)})")
        if self.bounds is None:
            object.__setattr__(self, "bounds", DEFAULT_BOUNDS[self.scale])

    def check(self, data: RunData) -> None:
        """Refuse a run that lacks a column which the measure reads."""
        for need in self.needs:
            table, _, column = need.partition(".")
            data.need(table, [column])

    def rows(self, data: RunData) -> Rows:
        """The rows of the measure in a run, with the columns that the module names."""
        data = data.counting()
        self.check(data)
        if callable(self.values):
            return self.values(data)
        try:
            return data.records(self.values)
        except import_duckdb().Error as problem:
            text = " ".join(str(problem).partition("LINE ")[0].split())
            raise UsageError(f"measure {self.name}: its SQL fails: {text}") from None

    def bounds_of(self, data: RunData) -> Callable[[int], Bounds]:
        """Return the smallest and largest possible value of each match."""
        if callable(self.bounds):
            return self.bounds(data)
        fixed: Bounds = self.bounds or (None, None)
        return lambda match: fixed  # noqa: ARG005


FIELDS = (
    "title", "scale", "definition", "values", "function", "of", "bounds", "unit", "needs", "source", "columns",
    "without", "by_round", "measure", "with", "binary", "better", "own_moves", "most_weight",
)  # fmt: skip
"""The keys that a declared measure may have."""
FRAGMENTS = "fragments"
"""The key of SQL fragments that several measures of a file use as ``{name}``."""


@dataclass(frozen=True)
class MeasureDeclaration:
    """A measure as a YAML file declares it; parsed on demand."""

    name: str
    file: str
    entry: Any
    fragments: Mapping[str, str]

    @cached_property
    def build(self) -> Any:
        """The declared ``Measure``, or the function that makes it from parameters; StudyError if invalid."""
        if not isinstance(self.entry, Mapping):
            raise StudyError("a measure is a mapping", file=self.file, key=self.name, actual=self.entry)
        entry = dict(self.entry)
        if unknown := [str(key) for key in entry if key not in FIELDS]:
            raise StudyError(
                unknown_key(unknown[0], FIELDS, f"measure {self.name}"), file=self.file, key=self.name, allowed=FIELDS
            )
        try:
            return self._build_measure(entry)
        except (TypeError, UsageError) as error:
            if isinstance(error, StudyError):
                raise
            raise StudyError(str(error), file=self.file, key=self.name) from error

    def _build_measure(self, entry: dict[str, Any]) -> Any:
        if "measure" in entry:
            part = self._imported(entry["measure"], "measure")
            return part(**entry["with"]) if "with" in entry else part
        missing = [key for key in ("title", "scale", "definition") if key not in entry]
        if missing or not {"values", "function"} & set(entry):
            lacks = missing[0] if missing else "values"
            raise StudyError(f"a measure needs {lacks!r}", file=self.file, key=self.name)
        for key in ("needs", "columns", "bounds"):
            if isinstance(entry.get(key), list):
                entry[key] = tuple(entry[key])
        for key in ("bounds", "most_weight"):
            if isinstance(entry.get(key), str):
                entry[key] = self._imported(entry[key], key)
        entry["values"] = self._values(entry)
        return Measure(name=self.name, **entry)

    def _values(self, entry: dict[str, Any]) -> Values:
        function, of = entry.pop("function", None), entry.pop("of", None)
        if function is not None:
            rows: Callable[..., Rows] = self._imported(function, "function")
            return rows if of is None else wraps(rows)(lambda data: rows(data, of))
        sql = str(entry["values"])
        for name, text in self.fragments.items():
            sql = sql.replace(f"{{{name}}}", text)
        return sql

    def _imported(self, place: Any, key: str) -> Any:
        module, _, name = str(place).partition(":")
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise StudyError(
                f"must name a Python object as module:name ({error})",
                file=self.file, key=f"{self.name}.{key}", actual=place,
            ) from error  # fmt: skip


def declarations(path: Traversable, package: str) -> Iterator[MeasureDeclaration]:
    """Yield the measures that a YAML file declares, including those by round."""
    file = f"{package}/{path.name}"
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise StudyError(f"is not UTF-8: {error.reason}", file=file) from None
    entries = read_yaml(text, file) or {}
    if not isinstance(entries, Mapping):
        raise StudyError("must be a mapping from the names of measures to what they are", file=file)
    fragments = entries.get(FRAGMENTS, {})
    if not isinstance(fragments, Mapping):
        raise StudyError("must be a mapping from names to SQL", file=file, key=FRAGMENTS, actual=fragments)
    for name, entry in entries.items():
        if name != FRAGMENTS:
            forms = (
                _forms(entry)
                if isinstance(entry, Mapping) and isinstance(entry.get("by_round"), Mapping)
                else {"": entry}
            )
            yield from (MeasureDeclaration(f"{name}{end}", file, form, fragments) for end, form in forms.items())


def _forms(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a measure and its form by round; without its own values the measure is the mean over rounds."""
    shared = {key: value for key, value in entry.items() if key not in ("values", "function", "of", "by_round")}
    by_round = {**shared, "unit": "decision", **entry["by_round"]}
    mean = {
        "values": f"SELECT * EXCLUDE (round, value), avg(value) AS value FROM ({by_round.get('values')}) "
        "GROUP BY ALL ORDER BY ALL"
    }
    own = {key: value for key, value in entry.items() if key != "by_round"}
    return {"": own if {"values", "function"} & set(own) else {**own, **mean}, "_by_round": by_round}


class Measures(Registry[Measure]):
    """The registry of measures: objects, or functions that make them from parameters."""

    def forget(self) -> None:
        """Drop the cached parts and declarations."""
        super().forget()
        self.__dict__.pop("_declared", None)

    @cached_property
    def _declared(self) -> dict[str, MeasureDeclaration | StudyError]:
        """Return declared measures by the path that a module of their name would have; and unreadable files."""
        return {}

    def _parts_in(self, package: str) -> list[str]:
        names = dict.fromkeys(super()._parts_in(package))
        home, _, folder = package.rpartition(".")
        for path in (*_yaml_files(home, f"{folder}.yaml"), *_yaml_files(home, folder)):
            try:
                for one in declarations(path, home):
                    if one.name in names:
                        raise StudyError("there is already a measure of that name", file=one.file, key=one.name)
                    names[one.name] = None
                    self._declared[f"{package}.{one.name}"] = one
            except StudyError as error:
                self._declared[f"{home}/{path.name}"] = error
        return list(names)

    def get(self, name: str) -> Callable[..., Measure]:
        """Return a measure or its factory; an unknown name may be declared in an unreadable file."""
        try:
            return super().get(name)
        except UnknownName:
            for one in self._declared.values():
                if isinstance(one, StudyError):
                    raise one from None
            raise

    def _loaded(self, name: str) -> Callable[..., Measure]:
        one = self._declared.get(self._files.get(name, ""))
        if isinstance(one, MeasureDeclaration):
            part: Callable[..., Measure] = one.build
            return part
        return super()._loaded(name)

    def named(self, measure: str | Mapping[str, Any] | Measure) -> Measure:
        """Return a measure by its name or specification; a measure object is returned unchanged."""
        if isinstance(measure, Measure):
            return measure
        if isinstance(measure, str) and measure in self:
            part: Any = self.get(measure)
            if isinstance(part, Measure):
                return part
        return self.build(measure)


def _yaml_files(package: str, name: str) -> list[Traversable]:
    """Return a YAML file of a package, or those of a folder in it; empty if it does not exist."""
    entry = package_folder(package).joinpath(name)
    if entry.is_dir():
        return sorted((p for p in entry.iterdir() if p.name.endswith(".yaml")), key=lambda p: p.name)
    return [entry] if entry.is_file() and name.endswith(".yaml") else []


measures = Measures("measure", "ostrom.analysis.measures", "MEASURE", "ostrom.measures", folder="measures")
