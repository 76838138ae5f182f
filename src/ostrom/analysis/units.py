"""The values of a measure: one per match and player with the match's columns, and one per unit.

What is independent is decided here: a match, unless seeds share something between cells, or the measure is about
scenarios or people. Two sides of a comparison pair wherever they have such units in common.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from ostrom.analysis.determinism import Determinism, draws_in_common, seeds_shared
from ostrom.analysis.intervals import Bounds
from ostrom.analysis.measure import INDEPENDENT, Measure, measures
from ostrom.analysis.population import (
    ALL,
    NAMING,
    Agents,
    averaged_over,
    check_agents,
    chosen_agents,
    kinds_of,
    names_agents,
)
from ostrom.analysis.replicates import twins_in
from ostrom.data.rundata import Counts, RunData, quoted
from ostrom.ground.errors import UnknownName, UsageError, nearest
from ostrom.ground.values import grouped
from ostrom.mechanisms.settlement import WHATS

Runs: TypeAlias = RunData | Sequence[RunData]
Where: TypeAlias = str | Mapping[str, Any] | None
"""A condition: SQL on the matches table, or columns with their value (or list of values)."""

DONE = "state = 'done' AND unit = 'match'"
"""The SQL condition for a finished match: no other enters a result."""
LEFT_OUT = frozenset("state unit reason facts score expected_score cooperation complaints policies".split())
SETTING = ("game", "mechanism", "opponents")
"""Columns that the design fixes besides its factors."""
COUNTED: Mapping[str, tuple[Any, ...]] = {"what": WHATS, "copied": (False, True)}
"""Columns of rounds that select what a measure counts, with their levels."""


class NoSuchLevel(UsageError):
    """Raised when a condition or a contrast names a level that no value has."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One value of a measure, with the columns of its match and player."""

    value: float
    weight: float | None
    bounds: Bounds
    exact: bool
    columns: Mapping[str, Any]
    history: tuple[str, int] | None = None
    """The run and first match of the population of this generation; None for independent matches."""
    twin: int | None = None
    """The first match of its cell that went the same way where nothing could differ; None if there is none."""
    whole: bool = False
    """Whether it is a value of the whole match, which has no agent."""
    most_weight: float | None = None

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
    shared: bool = False
    """Whether a seed fixes draws shared by two cells: then the seed is the unit."""
    runs: tuple[RunData, ...] = ()
    failed: tuple[Mapping[str, Any], ...] = ()
    """The rows of matches that meet the condition and failed, or were skipped."""
    studied: bool = False
    """Whether the values are those of the studied agents by default."""

    @cached_property
    def paired_runs(self) -> bool:
        """Return whether the same cell and seed of several runs share random draws."""
        return bool(self.runs) and all(map(draws_in_common, self.runs))

    @property
    def unit(self) -> str:
        """Return what is independent: a match, a seed that cells share, or what the measure is about."""
        return (
            self.measure.unit if self.measure.unit not in ("match", "decision") else "seed" if self.shared else "match"
        )

    def label(self, unit: "UnitValue", *, runs: bool = False) -> tuple[Any, ...]:
        """Return the independent unit of a value; with ``runs``, units shared by two runs are paired."""
        row = unit.rows[0]
        if self.measure.unit not in ("match", "decision"):
            return independent(self.measure, unit)
        if row.twin is not None:
            return ("match", row["run"], row.twin)
        if self.shared:
            return ("seed", row["seed"]) if runs else ("seed", row["run"], row["seed"])
        paired = runs and self.paired_runs
        return (self.cell(row, ["run"]), row["seed"]) if paired else ("match", row["run"], row.history or row["match"])

    def averaged(
        self, rows: Iterable[Observation], displayed: Sequence[str], named: Sequence[str] = ()
    ) -> dict[str, int]:
        """Return the varied factors, and agents, that figures of some values average over."""
        values = list(rows)
        who = () if all(row.whole for row in values) else ("agent",)
        factors = [name for name in (*self.factors, *who) if name in self.columns]
        return averaged_over(values, factors, [name for name in displayed if name in self.columns], named)

    def by_agent(self, by: Sequence[str], *compared: str) -> tuple[str, ...]:
        """Return the columns that split these values by agent, besides others and the compared column.

        Nothing is added where these tell the agents apart, where values belong to matches, or where an agent was named;
        the only studied agent is named where others play too.
        """
        self.need([*by, *compared])
        split = ("agent", *by)
        if {*NAMING} & {*by, *compared}:
            return tuple(by)
        if "agent" not in self.averaged(self.rows, [*by, *compared]):
            names = {row["agent"] for row in self.rows if not row.whole}
            return (
                split
                if self.studied and len(names) == 1 and any(len(kinds_of(run)) > 1 for run in self.runs)
                else tuple(by)
            )
        # If no agent has two levels of the compared column, agents are what is compared.
        return tuple(by) if compared and not averaged_over(self.rows, compared, split) else split

    def need(self, names: Iterable[str]) -> None:
        """Refuse columns that the values lack; without any value, a measure's own columns are unknown."""
        UnknownName.refuse("column", names if self.rows else (), self.columns)

    def groups(self, by: Sequence[str]) -> dict[tuple[Any, ...], list[Observation]]:
        """The values of every combination of columns that occurs, in the order of the study."""
        self.need(by)
        by_key = grouped((tuple(row[name] for name in by), row) for row in self.rows)
        order = [self._order(name) for name in by]
        ranked = sorted(by_key, key=lambda key: [o[value] for o, value in zip(order, key, strict=True)])
        return {key: by_key[key] for key in ranked}

    def _order(self, column: str) -> dict[Any, int]:
        """Return the rank of each value of a column: levels in the order of the study, then others as met."""
        met = dict.fromkeys((*self.levels.get(column, ()), *(row[column] for row in self.rows)))
        return {value: place for place, value in enumerate(met)}

    def cell(self, row: Observation, without: Iterable[str]) -> tuple[Any, ...]:
        """Return the conditions that the design fixes for a value, without some columns."""
        left = set(without)
        return tuple(
            row[name] for name in dict.fromkeys((*self.factors, *SETTING)) if name in self.columns and name not in left
        )


@dataclass(slots=True)
class UnitValue:
    """The contribution of one match (or scenario, or person) to a group: the mean of its values."""

    rows: list[Observation] = field(default_factory=list)

    @property
    def weight(self) -> float:
        """Return the weight of the unit: that of the measure, else its number of seats."""
        weights = [row.weight for row in self.rows]
        seats = len({row.columns.get("player") for row in self.rows})
        return float(seats) if None in weights else math.fsum(w for w in weights if w is not None)

    @property
    def value(self) -> float:
        """Return the mean over the players' values."""
        if any(row.weight is None for row in self.rows):
            return math.fsum(row.value for row in self.rows) / len(self.rows)
        return math.fsum(row.value * (row.weight or 0.0) for row in self.rows) / self.weight

    @property
    def exact(self) -> bool:
        """Whether it has no sampling error."""
        return all(row.exact for row in self.rows)


def per_match(rows: Iterable[Observation], *, apart: bool = False) -> dict[tuple[Any, ...], UnitValue]:
    """Return one value per match, identified by run and number.

    The generations of one population depend on each other and make one value, unless they are kept ``apart``.
    """
    by_match = grouped(
        ((row["run"], row["match"] if apart or row.history is None else row.history), row) for row in rows
    )
    return {key: UnitValue(of) for key, of in by_match.items()}


def independent(measure: Measure, unit: UnitValue) -> tuple[Any, ...]:
    """Return the label of a value's independent unit: its match, scenario or player."""
    return tuple(unit.rows[0][name] for name in INDEPENDENT[measure.unit])


def bounds_of(rows: Iterable[Any]) -> Bounds:
    """Return the widest bounds of some values; None if one has none."""
    lows, highs = zip(*(row.bounds for row in rows), strict=True)
    return None if None in lows else min(lows), None if None in highs else max(highs)


def observations(
    data: Runs | Observations, measure: Measure, where: Where = None, agents: Agents = None
) -> Observations:
    """Return the values of a measure in all finished matches that meet a condition.

    They are those of the studied agents (``ostrom.analysis.population``), unless ``agents`` says ``all`` or names some.
    """
    if isinstance(data, Observations):
        return data
    runs = [data] if isinstance(data, RunData) else list(data)
    if not runs:
        raise UsageError("there is no run to take values from")
    check_agents(runs, agents)
    collected: list[Observation] = []
    failed: list[dict[str, Any]] = []
    factors: dict[str, None] = {}
    levels: dict[str, dict[Any, None]] = {}
    columns: set[str] = set(measure.columns)
    for number, run in enumerate(runs):
        factors.update(dict.fromkeys(run.factors))
        for name, of in run.levels.items():
            levels.setdefault(name, {}).update(dict.fromkeys(of))
        mark = str(number) if sum(other.name == run.name for other in runs) > 1 else None
        rows = _of_run(run, measure, where, mark)
        columns.update(name for row in rows[:1] for name in row.columns)
        columns.update(set(run.columns("matches")) - LEFT_OUT)
        chosen = chosen_agents(run, agents, where)
        collected += [row for row in rows if chosen is None or row.whole or row["agent"] in chosen]
        everybody = chosen is None or any(row.whole for row in rows)
        failed += [row for row in _failed(run, measure, where, mark) if everybody or row["agent"] in (chosen or ())]
    every_column = dict.fromkeys(columns)  # a column that only another run has is empty
    values = tuple(
        row if len(row.columns) == len(columns) else replace(row, columns={**every_column, **row.columns})
        for row in collected
    )
    return Observations(
        measure,
        values,
        tuple(factors),
        {name: tuple(of) for name, of in levels.items()},
        frozenset(columns),
        shared=all(map(seeds_shared, runs)),
        runs=tuple(runs),
        failed=tuple(failed),
        studied=agents is None and not names_agents(where),
    )


def _failed(run: RunData, measure: Measure, where: Where, mark: str | None) -> list[dict[str, Any]]:
    """The rows of matches that meet a condition and failed, or were skipped because a reply could not be read."""
    lost = "state IN ('failed', 'skipped') AND unit = 'match'"
    if run.failed is None:
        run.failed = run.records(f"SELECT * FROM matches WHERE {lost} ORDER BY match, player")
    rows = run.failed
    if rows and isinstance(where, str) and where.strip():
        rows = run.matching_rows(f"({where}) AND {lost}")
    if isinstance(where, Mapping):
        condition = {name: _allowed(name, level, measure) for name, level in where.items() if rows and name in rows[0]}
        rows = [row for row in rows if _meets(row, condition)]
    return [{**row, "run": f"{row['run']} ({mark})"} for row in rows] if mark is not None else rows


def _of_run(run: RunData, measure: Measure, where: Where, mark: str | None) -> list[Observation]:
    """Return the values of one run; the last ones are cached, because one measure often serves several queries."""
    if isinstance(where, Mapping):
        run, where = counting(run, measure, where)
    query = where.strip() if isinstance(where, str) else ""
    key = (measure, query, mark)
    if run.last_read is None or run.last_read[0] != key:
        run.last_read = None  # only one measure is in memory at a time
        run.last_read = (key, list(_read(run, measure, query, mark)))
    cached: list[Observation] = run.last_read[1]
    if not isinstance(where, Mapping):
        return cached
    wanted = {name: _allowed(name, level, measure) for name, level in where.items()}
    return [row for row in cached if _meets(row.columns, wanted)]


def _allowed(name: str, wanted: Any, measure: Measure) -> list[Any]:
    """Return the levels of a column that a condition names, under their present names."""
    present = {old: new for column, old, new in measure.former if column == name}
    levels = wanted if isinstance(wanted, list | tuple | set | frozenset) else (wanted,)
    return [present.get(level, level) if isinstance(level, str) else level for level in levels]


def _read(run: RunData, measure: Measure, where: str, mark: str | None) -> Iterable[Observation]:
    rows = (
        [row for row in run.matching_rows(where) if row["state"] == "done" and row["unit"] == "match"]
        if where
        else run.records(f"SELECT * FROM matches WHERE {DONE} ORDER BY match, player")
    )
    played: dict[int, list[dict[str, Any]]] = {}
    # People excluded by a declared rule (people.exclude) enter no result.
    for player in (row for row in rows if not row.get("excluded")):
        if mark is not None:
            player["run"] = f"{player['run']} ({mark})"
        played.setdefault(player["match"], []).append({k: v for k, v in player.items() if k not in LEFT_OUT})
    bounds, exact, populations = measure.bounds_of(run), Determinism(run.unit), histories(run)
    same, most = twins_in(run), measure.most_weight(run) if measure.most_weight else lambda match: None  # noqa: ARG005
    for row in measure.rows(run):
        value, players = row.get("value"), played.get(row["match"])
        if value is None or players is None:
            continue
        columns, weight = join_players(row, players), row.get("weight")
        if columns is None or (weight is not None and weight <= 0):
            continue
        match = row["match"]
        yield Observation(
            float(value),
            None if weight is None else float(weight),
            bounds(match),
            exact(match) or (measure.own_moves and "player" in row and exact.own_moves(match, row["player"])),
            columns,
            (players[0]["run"], populations[match]) if match in populations else None,
            same.get(match),
            "player" not in row,
            most(match),
        )


def join_players(row: Mapping[str, Any], players: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the columns of a value: those of its player, or of all players for a value of the match."""
    own = {name: of for name, of in row.items() if name not in ("match", "value", "weight")}
    if "player" in row:
        player = next((one for one in players if one["player"] == row["player"]), None)
        return None if player is None else {**player, **own}
    seated = [player for player in players if player["seat"] is not None] or list(players)
    shared = {name: _shared([player[name] for player in seated]) for name in seated[0]}
    return {**shared, "opponents": " + ".join(str(p["agent"]) for p in seated), **own}


def _shared(values: Sequence[Any]) -> Any:
    """Return the value that all players share, or their values joined."""
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
    """Map every match that is a generation to the first match of its population.

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
    first_of: dict[int, int] = {}
    met: dict[tuple[int, int], int] = {}
    first: dict[tuple[int, int], int] = {}
    for row in rows:
        again = met[row["population"], row["generation"]] = met.get((row["population"], row["generation"]), -1) + 1
        first_of[row["match"]] = first.setdefault((row["population"], again), row["match"])
    return first_of


EQUAL = re.compile(r"\s*([A-Za-z_][\w.]*)\s*=(?![=~])\s*([^=<>!'\"()]+?)\s*")


def condition(data: Runs, measure: str | Mapping[str, Any] | Measure, texts: Sequence[str]) -> Where:
    """Return the condition that texts state together: all ``column=value``, or all SQL.

    A value is a level of the column as tables print it; several are separated by commas.
    """
    written = [text for text in texts if text.strip()]
    if not written:
        return None
    equal = [EQUAL.fullmatch(text) for text in written]
    if not all(equal):
        return " AND ".join(f"({text})" for text in written)
    columns = [match[1] for match in equal if match is not None]
    if twice := [column for column in columns if columns.count(column) > 1]:
        raise UsageError(f"where: {twice[0]} is given twice; separate its levels by commas")
    return select(data, measure, {match[1]: match[2] for match in equal if match is not None}, commas=True)


def select(
    data: Runs | Observations,
    measure: str | Mapping[str, Any] | Measure,
    where: str | Mapping[str, Any],
    *,
    commas: bool = False,
) -> Where:
    """Return the condition of a file: SQL, or columns with a level or a list of levels.

    ``commas``: a text that is no level itself lists several.
    """
    if isinstance(where, str):
        return where.strip() or None
    if not where:
        return None
    observed = observations(data, measures.named(measure), agents=ALL)
    observed.need(name for name in where if not says_what_counts(observed.measure, name))
    wanted: dict[str, list[Any]] = {}
    for column, stated in where.items():
        parts = stated if isinstance(stated, list | tuple) else [stated]
        allowed = (
            counted_levels(column)
            if says_what_counts(observed.measure, column)
            else {as_text(value): value for value in dict.fromkeys(row[column] for row in observed.rows)}
        )
        if commas and stated not in allowed:
            parts = [part.strip() for part in stated.split(",") if part.strip()]
        wanted[column] = [_level_named(allowed, column, as_text(part)) for part in parts]
    return wanted


def _level_named(levels: Mapping[str, Any], column: str, text: str) -> Any:
    if text not in levels:
        near = nearest(text, levels)
        hint = f", did you mean {near!r}?" if near else ""
        listed = ", ".join(levels) if len(levels) <= 40 else f"{len(levels)} different values"
        raise NoSuchLevel(f"where: {column} has no level {text!r}{hint} (levels: {listed or 'none'})")
    return levels[text]


def as_text(value: Any) -> str:
    """Return a level as tables print it."""
    return "none" if value is None else str(value)


def says_what_counts(measure: Measure, column: str) -> bool:
    """Return whether a condition on a column selects rounds or decisions."""
    tables = ("rounds",) if column == "what" else ("rounds", "decisions")
    return column in COUNTED and any(need.partition(".")[0] in tables for need in measure.needs)


def counting(run: RunData, measure: Measure, where: Mapping[str, Any]) -> tuple[RunData, Mapping[str, Any]]:
    """Return the run restricted to the requested rounds, and the rest of the condition."""
    own = {name: level for name, level in where.items() if says_what_counts(measure, name)}
    if not own:
        return run, where
    copied, what = (
        frozenset(level if isinstance(level, list | tuple | set | frozenset) else (level,))
        for level in (own.get("copied", False), own.get("what", ()))
    )
    return run.counting(Counts(copied, what)), {name: level for name, level in where.items() if name not in own}


def counted_levels(column: str) -> dict[str, Any]:
    """Return the levels of a column in ``COUNTED`` by their spelling."""
    return {name: value for value in COUNTED[column] for name in (str(value), str(value).lower())}
