"""The values of a measure, one per match and player, beside the columns of the match; and one per unit.

Two sides of a comparison are paired wherever their units pair.
"""

import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from ostrom.analysis.counting import counted_levels, counting, says_what_counts
from ostrom.analysis.determinism import Determinism
from ostrom.analysis.intervals import (
    Bounds,
    Exact,
    Inference,
    difference_of,
    mean_of,
    paired_difference_of,
)
from ostrom.analysis.measure import INDEPENDENT, Measure, measures
from ostrom.analysis.statistics.samples import without_rounding
from ostrom.data.rundata import RunData, quoted
from ostrom.ground.errors import UnknownName, UsageError, nearest
from ostrom.ground.values import grouped

Runs: TypeAlias = RunData | Sequence[RunData]
Where: TypeAlias = str | Mapping[str, Any] | None
"""A condition in SQL on the table of matches, or columns with the value (or the list of values) they must have."""

DONE = "state = 'done' AND unit = 'match'"
"""Only finished matches enter a result."""
LEFT_OUT = frozenset("state unit reason facts score expected_score cooperation complaints policies".split())
SETTING = ("game", "mechanism", "opponents")
"""Columns that the design fixes beside its factors."""


class NoSuchLevel(UsageError):
    """A condition or a contrast names a level that no value has."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One value of a measure, with the columns of its match and player."""

    value: float
    weight: float | None
    bounds: Bounds
    exact: bool
    columns: Mapping[str, Any]
    history: tuple[str, int] | None = None
    """The run and first match of the population whose generation this is; None where matches are independent."""

    def __getitem__(self, column: str) -> Any:
        return self.columns[column]


@dataclass(frozen=True)
class Observations:
    """All values of a measure in one run or several."""

    measure: Measure
    rows: tuple[Observation, ...]
    factors: tuple[str, ...]
    levels: Mapping[str, Sequence[Any]]
    columns: frozenset[str]

    def need(self, names: Iterable[str]) -> None:
        """Refuse columns that the values lack; without any value, a measure's own columns are unknown."""
        for name in names if self.rows else ():
            if name not in self.columns:
                raise UnknownName("column", name, self.columns)

    def groups(self, by: Sequence[str]) -> dict[tuple[Any, ...], list[Observation]]:
        """The values of every combination of columns that occurs, in the order of the study."""
        self.need(by)
        found = grouped((tuple(row[name] for name in by), row) for row in self.rows)
        order = [self._order(name) for name in by]
        ranked = sorted(found, key=lambda key: [o[value] for o, value in zip(order, key, strict=True)])
        return {key: found[key] for key in ranked}

    def _order(self, column: str) -> dict[Any, int]:
        """The rank of each value of a column: levels in the order of the study, then others as met."""
        met = dict.fromkeys((*self.levels.get(column, ()), *(row[column] for row in self.rows)))
        return {value: place for place, value in enumerate(met)}

    def cell(self, row: Observation, without: Iterable[str]) -> tuple[Any, ...]:
        """The conditions that the design fixes for a value, less some columns."""
        left = set(without)
        names = dict.fromkeys((*self.factors, *SETTING))
        return tuple(row[name] for name in names if name in self.columns and name not in left)


@dataclass(slots=True)
class UnitValue:
    """What one match (or scenario, or person) contributes to a group: the mean of its values."""

    rows: list[Observation] = field(default_factory=list)

    @property
    def weight(self) -> float:
        """The weight of the unit: 1, unless the measure has weights."""
        weights = [row.weight for row in self.rows]
        return 1.0 if None in weights else math.fsum(w for w in weights if w is not None)

    @property
    def value(self) -> float:
        """The mean over the values, which are those of the players of a match."""
        if any(row.weight is None for row in self.rows):
            return math.fsum(row.value for row in self.rows) / len(self.rows)
        return math.fsum(row.value * (row.weight or 0.0) for row in self.rows) / self.weight

    @property
    def exact(self) -> bool:
        """Whether it has no sampling error."""
        return all(row.exact for row in self.rows)


def per_match(rows: Iterable[Observation], *, apart: bool = False) -> dict[tuple[Any, ...], UnitValue]:
    """One value per match; matches are told apart by run and number.

    The generations of one population depend on each other and make one value, unless they are kept ``apart``.
    """
    found: dict[tuple[Any, ...], UnitValue] = {}
    for row in rows:
        one = row["match"] if apart or row.history is None else row.history
        found.setdefault((row["run"], one), UnitValue()).rows.append(row)
    return found


def independent(measure: Measure, unit: UnitValue) -> tuple[Any, ...]:
    """What the unit of analysis of a value is: its match, its scenario, or its player."""
    return tuple(unit.rows[0][name] for name in INDEPENDENT[measure.unit])


class Bounded(Protocol):
    """Something whose value has bounds."""

    @property
    def bounds(self) -> Bounds:
        """The least and the largest value."""
        ...


def bounds_of(rows: Iterable[Bounded]) -> Bounds:
    """The widest bounds of some values; None where one of them has none."""
    lows, highs = zip(*(row.bounds for row in rows), strict=True)
    return None if None in lows else min(lows), None if None in highs else max(highs)


def observations(data: Runs | Observations, measure: Measure, where: Where = None) -> Observations:
    """The values of a measure in all finished matches that meet a condition; values at hand stay as they are."""
    if isinstance(data, Observations):
        return data
    runs = [data] if isinstance(data, RunData) else list(data)
    if not runs:
        raise UsageError("there is no run to take values from")
    found: list[Observation] = []
    factors: dict[str, None] = {}
    levels: dict[str, dict[Any, None]] = {}
    columns: set[str] = set(measure.columns)
    for number, run in enumerate(runs):
        factors.update(dict.fromkeys(run.factors))
        for name, of in run.levels.items():
            levels.setdefault(name, {}).update(dict.fromkeys(of))
        rows = _of_run(run, measure, where, str(number) if _twice(runs, run) else None)
        columns.update(name for row in rows[:1] for name in row.columns)
        columns.update(set(run.columns("matches")) - LEFT_OUT)
        found += rows
    for at, row in enumerate(found):  # a column that only another run has is empty
        if len(row.columns) < len(columns):
            found[at] = replace(row, columns={**dict.fromkeys(columns), **row.columns})
    listed = {name: tuple(of) for name, of in levels.items()}
    return Observations(measure, tuple(found), tuple(factors), listed, frozenset(columns))


def _twice(runs: Sequence[RunData], run: RunData) -> bool:
    return sum(other.name == run.name for other in runs) > 1


def _of_run(run: RunData, measure: Measure, where: Where, mark: str | None) -> list[Observation]:
    """The values of one run. Those that were read last are kept: several questions are often asked of one measure."""
    if isinstance(where, Mapping):
        run, where = counting(run, measure, where)
    asked = where.strip() if isinstance(where, str) else ""
    key = (measure, asked, mark)
    if run.last_read is None or run.last_read[0] != key:
        run.last_read = None  # one measure at a time is in memory
        run.last_read = (key, list(_read(run, measure, asked, mark)))
    found: list[Observation] = run.last_read[1]
    if not isinstance(where, Mapping):
        return found
    wanted = {name: _allowed(name, level, measure) for name, level in where.items()}
    return [row for row in found if _meets(row.columns, wanted)]


def _allowed(name: str, wanted: Any, measure: Measure) -> list[Any]:
    """The levels of a column that a condition names, each under its present word."""
    present = {old: new for column, old, new in measure.former if column == name}
    levels = wanted if isinstance(wanted, list | tuple | set | frozenset) else (wanted,)
    return [present.get(level, level) if isinstance(level, str) else level for level in levels]


def _read(run: RunData, measure: Measure, where: str, mark: str | None) -> Iterable[Observation]:
    if where:
        rows = [row for row in run.picked(where) if row["state"] == "done" and row["unit"] == "match"]
    else:
        rows = run.records(f"SELECT * FROM matches WHERE {DONE} ORDER BY match, player")
    # People whom a declared rule excludes (people.exclude) enter no result.
    rows = [row for row in rows if not row.get("excluded")]
    played: dict[int, list[dict[str, Any]]] = {}
    for player in rows:
        if mark is not None:
            player["run"] = f"{player['run']} ({mark})"
        played.setdefault(player["match"], []).append({k: v for k, v in player.items() if k not in LEFT_OUT})
    bounds, exact, populations = measure.bounds_of(run), Determinism(run.unit), histories(run)
    for row in measure.rows(run):
        value, players = row.get("value"), played.get(row["match"])
        if value is None or players is None:
            continue
        columns = join_players(row, players)
        if columns is None:
            continue
        weight = row.get("weight")
        if weight is not None and weight <= 0:
            continue
        match = row["match"]
        yield Observation(
            float(value),
            None if weight is None else float(weight),
            bounds(match),
            exact(match),
            columns,
            (players[0]["run"], populations[match]) if match in populations else None,
        )


def join_players(row: Mapping[str, Any], players: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The columns of a value: those of its player, or of all players where it belongs to the match."""
    own = {name: of for name, of in row.items() if name not in ("match", "value", "weight")}
    if "player" in row:
        for player in players:
            if player["player"] == row["player"]:
                return {**player, **own}
        return None
    seated = [player for player in players if player["seat"] is not None] or list(players)
    shared = {name: _shared([player[name] for player in seated]) for name in seated[0]}
    return {**shared, "opponents": " + ".join(str(p["agent"]) for p in seated), **own}


def _shared(values: Sequence[Any]) -> Any:
    """What all players have in common, or what each has, joined."""
    different = list(dict.fromkeys(values))
    return different[0] if len(different) == 1 else " + ".join(str(v) for v in different)


def _meets(columns: Mapping[str, Any], where: Mapping[str, list[Any]]) -> bool:
    for name, allowed in where.items():
        if name not in columns:
            raise UnknownName("column", name, columns)
        if columns[name] not in allowed:
            return False
    return True


def histories(data: RunData) -> dict[int, int]:
    """For every match that is a generation: the first match of its population, which stands for all of it.

    Generations of one population have the factors, the seed, the game and the agents in their places in common. A
    generation that occurs again (replicates of a branch) begins another population.
    """
    if "generation" not in data.columns("matches"):
        return {}
    shared = dict.fromkeys(name for name in (*data.factors, "seed", "game") if name != "generation")
    listed = ", ".join(map(quoted, shared))
    rows = data.records(
        f"SELECT match, generation, dense_rank() OVER (ORDER BY {listed}, agents) AS population FROM ("
        f"SELECT match, {listed}, any_value(generation) AS generation, "
        "string_agg((seat IS NULL) || '/' || agent, chr(10) ORDER BY player) AS agents "
        f"FROM matches WHERE generation IS NOT NULL GROUP BY match, {listed}) ORDER BY match"
    )
    found: dict[int, int] = {}
    met: dict[tuple[int, int], int] = {}
    first: dict[tuple[int, int], int] = {}
    for row in rows:
        again = met[row["population"], row["generation"]] = (
            met.get((row["population"], row["generation"]), -1) + 1
        )
        found[row["match"]] = first.setdefault((row["population"], again), row["match"])
    return found


EQUAL = re.compile(r"\s*([A-Za-z_][\w.]*)\s*=(?![=~])\s*([^=<>!'\"()]+?)\s*")


def condition(data: Runs, measure: str | Mapping[str, Any] | Measure, texts: Sequence[str]) -> Where:
    """The condition that some texts state together: all ``column=value``, or all SQL.

    A value is a level of the column as tables print it; several are separated by commas.
    """
    written = [text for text in texts if text.strip()]
    if not written:
        return None
    equal = [EQUAL.fullmatch(text) for text in written]
    if not all(equal):
        return " AND ".join(f"({text})" for text in written)
    found = observations(data, measures.named(measure))
    wanted: dict[str, list[Any]] = {}
    for match in equal:
        assert match is not None
        column, text = match.groups()
        if column in wanted:
            raise UsageError(f"where: {column} is given twice; separate its levels by commas")
        if says_what_counts(found.measure, column):
            parts = [part.strip() for part in text.split(",") if part.strip()]
            wanted[column] = [_level(counted_levels(column), column, part) for part in parts]
        else:
            wanted[column] = _levels(found, column, text)
    return wanted


def select(
    data: Runs | Observations, measure: str | Mapping[str, Any] | Measure, where: str | Mapping[str, Any]
) -> Where:
    """The condition that a file states: SQL, or columns with a level or a list of levels."""
    if isinstance(where, str):
        return where.strip() or None
    if not where:
        return None
    found = observations(data, measures.named(measure))
    found.need(name for name in where if not says_what_counts(found.measure, name))
    wanted: dict[str, list[Any]] = {}
    for column, given in where.items():
        parts = given if isinstance(given, list | tuple) else [given]
        known = counted_levels(column) if says_what_counts(found.measure, column) else _known(found, column)
        wanted[column] = [_level(known, column, as_text(part)) for part in parts]
    return wanted


def _levels(found: Observations, column: str, text: str) -> list[Any]:
    found.need([column])
    known = _known(found, column)
    if text in known:  # a level may itself contain a comma
        return [known[text]]
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    return [_level(known, column, part) for part in wanted]


def _known(sample: Observations, column: str) -> dict[str, Any]:
    """The levels of a column by the text that tables print."""
    return {as_text(value): value for value in dict.fromkeys(row[column] for row in sample.rows)}


def _level(known: Mapping[str, Any], column: str, text: str) -> Any:
    if text not in known:
        near = nearest(text, known)
        hint = f", did you mean {near!r}?" if near else ""
        listed = ", ".join(known) if len(known) <= 40 else f"{len(known)} different values"
        raise NoSuchLevel(f"where: {column} has no level {text!r}{hint} (levels: {listed or 'none'})")
    return known[text]


def as_text(value: Any) -> str:
    """A level as tables print it and as people write it."""
    return "none" if value is None else str(value)


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
    weights: tuple[Sequence[float] | None, Sequence[float] | None] = (None, None)
    """What every value counts where not all count the same; partners of a pair count alike."""

    @property
    def n(self) -> int:
        """How many pairs, or how many independent units."""
        return len({*self.names[0], *self.names[1]}) if self.pairs is None else len(self.pairs)

    def inference(self) -> Inference:
        """The mean of the first side minus that of the second."""
        one, two, sure = self.first, self.second, self.certain
        if all(sure):
            a, b = _average(one, self.weights[0]), _average(two, self.weights[1])
            return Exact(without_rounding(a - b, abs(a) + abs(b)))
        if any(sure):
            sign, side = (1.0, 0) if sure[1] else (-1.0, 1)
            drawn, known = (one, two) if sure[1] else (two, one)
            how: dict[str, Any] = {"strata": self.strata}
            if self.pairs is None:
                how = {"clusters": self.names[side]}
            made = mean_of(drawn, bounds=self.bounds, weights=self.weights[side], unit=self.unit, **how)
            scaled = tuple(sign * a for a in made.coefficients)
            offset = -sign * _average(known, self.weights[1 - side])
            return replace(made, coefficients=scaled, offset=offset)
        if self.pairs is None:
            return difference_of(
                one, two, bounds=self.bounds, weights=self.weights, clusters=self.names, unit=self.unit
            )
        return paired_difference_of(
            one, two, bounds=self.bounds, weights=self.weights[0], strata=self.strata, unit=self.unit
        )


def compared(
    found: Observations,
    first: Sequence[Observation],
    second: Sequence[Observation],
    factor: str,
    by: Sequence[str],
    balance: Sequence[str] = (),
) -> tuple[Inference, int, str, str]:
    """The mean of one side minus that of the other: inference, number of units, unit, and a note."""
    made = comparison(found, first, second, factor, by)
    if balance:
        rows = [u.rows for side in made.units for of in side for u in of]
        if name := next((n for n in balance if any(len({row[n] for row in of}) > 1 for of in rows)), None):
            raise UsageError(
                f"balance: players of one match differ in {name}; name it in by, or leave it out of balance"
            )
        counts = [balanced([of[0] for of in side], [1.0] * len(side), balance) for side in made.units]
        made = replace(made, weights=(counts[0], counts[1]))
    return made.inference(), made.n, made.unit, made.note


def comparison(
    sample: Observations,
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
    unit = "match" if sample.measure.unit == "decision" else sample.measure.unit
    pairs = pair_units(sample, first, second, factor, by)
    if len(pairs.keys) < 2:
        sides = [list(per_match(side).values()) for side in (first, second)]
        values = [[u.value for u in side] for side in sides]
        names = [[independent(sample.measure, u) for u in side] for side in sides]
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


def pair_units(
    sample: Observations,
    first: Sequence[Observation],
    second: Sequence[Observation],
    factor: str,
    by: Sequence[str] = (),
) -> Pairs:
    """The pairs of two sides: the same match, the same seed in cells that differ in the factor alone, or the same
    scenario or person."""
    sides = per_match(first), per_match(second)
    columns, note = _shared_columns(sample, first, second, factor, by)
    keyed = [_keyed(sample, side, other, columns) for side, other in (sides, sides[::-1])]
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


def _average(values: Sequence[float], weights: Sequence[float] | None = None) -> float:
    if weights is None:
        return math.fsum(values) / len(values)
    return math.fsum(map(operator.mul, values, weights)) / math.fsum(weights)


def balanced(units: Sequence[UnitValue], weights: Sequence[float], balance: Sequence[str]) -> list[float]:
    """Weights under which all levels of a column count the same, within levels of the columns before it."""
    weights = list(weights)
    for depth in range(len(balance), 0, -1):
        outer = [tuple(u.rows[0][name] for name in balance[: depth - 1]) for u in units]
        inner = [tuple(u.rows[0][name] for name in balance[:depth]) for u in units]
        mass: dict[Any, float] = {}
        for weight, cell in zip(weights, inner, strict=True):
            mass[cell] = mass.get(cell, 0.0) + weight
        count: dict[Any, set[Any]] = {}
        for cell, around in zip(inner, outer, strict=True):
            count.setdefault(around, set()).add(cell)
        weights = [
            weight / mass[cell] / len(count[around])
            for weight, cell, around in zip(weights, inner, outer, strict=True)
        ]
    return weights
