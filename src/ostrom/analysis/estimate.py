"""Estimates of means, contrasts and slopes, each with its uncertainty.

Which interval a result gets is decided in ``ostrom.analysis.intervals`` alone.
Files state a question to a run as a ``Query``: a measure, which matches, and whether a level, a difference or a slope.
Gates, batteries, stopping rules and `ostrom estimate` ask the same way, so they get the same figures.

The values of matches that failed, or whose replies could not be read, are unknown. Where these matches are more than
two in a hundred, the note of an estimate names the values that it would have with all of them at the lower and at the
upper end of the range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from statistics import stdev
from typing import Any, Literal, Self, TypeVar

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from ostrom.analysis import intervals
from ostrom.analysis.intervals import Bounds, Inference, exactly, slope_of
from ostrom.analysis.intervals.kinds import Log
from ostrom.analysis.measure import Measure, measures
from ostrom.analysis.population import ALL, Agents, agents_in_question, names_in, population_words, refuse_mixed_people
from ostrom.analysis.statistics.result import FEW, Estimate, fixed, holm
from ostrom.analysis.unit_figures import UnitFigure, UnitSide, comparison, figure
from ostrom.analysis.units import (
    DONE,
    SETTING,
    NoSuchLevel,
    Observation,
    Observations,
    Runs,
    UnitValue,
    Where,
    bounds_of,
    observations,
    per_match,
    select,
)
from ostrom.data.rundata import RunData, so_far
from ostrom.ground.errors import UsageError, nearest
from ostrom.ground.validation import Declared
from ostrom.ground.values import grouped
from ostrom.ground.words import how_many, join_words

SMALL_LOSS = 0.02
"""The largest share of failed matches without a note."""


def with_failed(
    one: Estimate, measured: Observations, unit_figure: UnitFigure, keys: Sequence[Mapping[str, Any]]
) -> Estimate:
    """Return the estimate with a note on failed matches; ``keys`` are the levels of each side."""
    ends, lost, every = [0.0, 0.0], 0, 0
    low, high = unit_figure.bounds
    for (a, side), key in zip(unit_figure.sides, keys, strict=True):
        done = len({(row["run"], row["match"]) for unit in side.units for row in unit.rows})
        failed = (row for row in measured.failed if all(row[name] == of for name, of in key.items() if name in row))
        out = len({(row["run"], row["match"]) for row in failed})
        lost, every = lost + out, every + out + done
        mean = math.fsum(w * v for w, v in zip(side.weights, side.values, strict=True)) / math.fsum(side.weights)
        if low is not None and high is not None:
            moved = sorted(a * out / (out + done) * (end - mean) for end in (low, high))
            ends = [end + by for end, by in zip(ends, moved, strict=True)]
    if lost <= SMALL_LOSS * every:
        return one
    words = f"{lost} of {how_many(every, 'match')} failed or were skipped"
    if low is None or high is None:
        return replace(one, note="; ".join(filter(None, (one.note, words))))
    around = one.value + ends[0], one.value + ends[1]
    words += f": {fixed(around[0], 3)} to {fixed(around[1], 3)} if all of them had been at either end of the range"
    return replace(one, failed=around, note="; ".join(filter(None, (one.note, words))))


MODEL = "{model}"
"""The placeholder for the model's name in conditions."""
Level = str | int | float | bool | None


class Query(Declared):
    """A query to a run; without ``contrast`` and ``over`` it asks for the mean.

    >>> Query(measure="cooperation", contrast="k=80-2").pair
    ('k', '80-2')
    """

    measure: str | dict[str, Any]
    where: str | dict[str, Level | list[Level]] = Field(
        default_factory=dict, description="columns with the level (or levels) they must have, or SQL"
    )
    contrast: str = Field(default="", description="the difference between two levels: FACTOR=A-B")
    over: str = Field(default="", description="the slope over a column of numbers")
    log: bool | Literal["1+x"] = Field(default=False, description="with over: per unit of ln x, or of ln(1 + x)")
    balance: tuple[str, ...] = Field(default=(), description="columns whose levels count the same")
    by: tuple[str, ...] = Field(default=(), description="columns whose levels are asked one by one")
    agents: tuple[str, ...] = Field(default=(), description="whose values: all, or names (default: studied agents)")
    mean_over_agents: bool = Field(default=False, description="one mean over the agents, not one answer for each")

    @field_validator("agents", mode="before")
    @classmethod
    def _one_agent(cls, value: Any) -> Any:
        return names_in(value) if isinstance(value, str) else value

    @model_serializer(mode="wrap")
    def _plain(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = dump(self)
        for name in ("agents", "mean_over_agents"):  # rules of earlier runs keep their stored form
            if data.get(name) == type(self).model_fields[name].default or not data.get(name):
                data.pop(name, None)
        return data

    @model_validator(mode="after")
    def _one_kind(self) -> Query:
        if self.over and (self.contrast or self.balance):
            raise ValueError(f"{'contrast' if self.contrast else 'balance'} and over exclude each other")
        if self.log and not self.over:
            raise ValueError("log needs over")
        if self.contrast and not all(part.strip() for part in self.contrast.partition("=")):
            raise ValueError(f"contrast must be FACTOR=A-B (found {self.contrast!r})")
        return self

    @property
    def pair(self) -> tuple[str, str]:
        """Return the factor and the levels of the contrast."""
        factor, _, levels = self.contrast.partition("=")
        return factor.strip(), levels.strip()

    @cached_property
    def measure_object(self) -> Measure:
        """Return the measure object."""
        return measures.named(self.measure)

    def for_model(self, model: str) -> Self:
        """Return the query with ``{model}`` replaced by a model's name."""
        where = (
            self.where if isinstance(self.where, str) else {c: _named(level, model) for c, level in self.where.items()}
        )
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**fields, "where": where, "contrast": _named(self.contrast, model)})

    @property
    def words(self) -> str:
        """Return the query without its conditions: ``cooperation, k: 80 - 2``."""
        name = self.measure_object.name
        if self.contrast:
            return f"{name}, {self.pair[0]}: {self.pair[1]}"
        if self.over:
            x = f"ln(1 + {self.over})" if self.log == "1+x" else f"ln {self.over}" if self.log else self.over
            return f"{name}, slope over {x}"
        return name

    @property
    def matches(self) -> str:
        """Return the conditions in words; empty if all matches count."""
        if isinstance(self.where, str):
            return self.where.strip()
        levels = {column: of if isinstance(of, list) else [of] for column, of in self.where.items()}
        return ", ".join(f"{column} {' or '.join(map(str, of))}" for column, of in levels.items())

    def condition(self, data: Runs | Observations) -> Where:
        """The condition with the values that the tables hold."""
        return select(data, self.measure_object, self.where)

    @property
    def whose(self) -> Agents:
        """Return the agents of the query; None means the studied ones."""
        return agents_in_question(self.agents or None, self.by, (self.pair[0],))

    def values(self, data: Runs | Observations) -> Observations:
        """Return the values that the query covers."""
        return observations(data, self.measure_object, self.condition(data), self.whose)

    def split(self, rows_of: Observations) -> tuple[str, ...]:
        """Return the columns by which the results are split."""
        return split_by(
            rows_of,
            self.by,
            [self.pair[0], self.over],
            self.agents or None,
            mean=self.mean_over_agents or "agent" in self.balance,
        )

    def ask(self, data: Runs | Observations, level: float = 0.95) -> list[Estimate]:
        """Return the estimates, one for each agent and combination of the columns ``by``."""
        measured = self.values(data)
        return self.estimates(measured, self.split(measured), level)

    def estimates(self, measured: Observations, by: Sequence[str], level: float = 0.95) -> list[Estimate]:
        """Return the estimates from values already read, one for each combination of some columns."""
        if self.contrast:
            return contrast(measured, self.measure_object, *self.pair, by, balance=self.balance, level=level)
        return (
            trend(measured, self.measure_object, self.over, by, log=self.log, level=level)
            if self.over
            else estimate(measured, self.measure_object, by, balance=self.balance, level=level)
        )

    def population(self, runs: Sequence[RunData]) -> str:
        """Say whose values the query covers."""
        return population_words(runs, self.whose, self.where)

    def levels(self, data: RunData) -> set[float] | None:
        """Return the levels over which a slope is computed; None without a slope."""
        rows = self.values(data).rows if self.over else ()
        return {float(row[self.over]) for row in rows if row[self.over] is not None} if self.over else None


def split_by(
    measured: Observations, by: Sequence[str], compared: Iterable[str], agents: Agents = None, *, mean: bool = False
) -> tuple[str, ...]:
    """Return the columns to split by: one row for each agent, unless the ``mean`` over agents is requested.

    A run that is bound to a registration keeps the mean over all agents where nobody is named.
    """
    if mean:
        refuse_mixed_people(measured.runs, {row["agent"] for row in measured.rows if not row.whole})
    elif agents is not None or not any(run.manifest.get("registered") for run in measured.runs):
        return measured.by_agent(by, *filter(None, compared))
    return tuple(by)


def _named(level: Any, model: str) -> Any:
    if isinstance(level, list):
        return [_named(one, model) for one in level]
    return level.replace(MODEL, model) if isinstance(level, str) else level


def key_words(key: Mapping[str, Any]) -> str:
    """Describe the group of an estimate: ``game: stag_hunt, k: 80 - 2``."""
    return ", ".join(f"{name}: {value}" for name, value in key.items() if name != "over")


def minus(first: Estimate, second: Estimate) -> Estimate:
    """Return the difference of two estimates with different units, such as effects in two games."""
    key = {name: f"{value} - {second.key[name]}" if value != second.key[name] else value
           for name, value in first.key.items() if name in second.key}  # fmt: skip
    if first.inference is None or second.inference is None:
        raise UsageError("the difference of these estimates has no interval: their spread is not kept")
    return estimated(
        key, intervals.combined([(1.0, first.inference), (-1.0, second.inference)]), first.n + second.n, first.unit,
        compares=True,
    )  # fmt: skip


def estimate(
    data: Runs | Observations,
    measure: str | Mapping[str, Any] | Measure,
    by: Sequence[str] = (),
    *,
    where: Where = None,
    balance: Sequence[str] = (),
    level: float = 0.95,
    agents: Agents = None,
) -> list[Estimate]:
    """The mean of a measure for every combination of the columns ``by``, in the order of the study.

    Players of a group are averaged within a match first. Conditions that the design fixes (other factors,
    games, opponents) are not resampled. ``balance`` names columns whose levels weigh the same, whatever was
    played: ``["game", "agent"]`` averages over agents within games, then over games. The values are those of the
    studied agents, unless ``agents`` is ``all`` or names some; ``averaged_over`` names the varied factors that an
    estimate neither fixes nor shows.
    """
    measured = observations(data, measures.named(measure), where, agents)
    measured.need(balance)
    estimates = []
    for key, rows in measured.groups(by).items():
        unit_figure = figure(measured, [(1.0, rows)], by, balance)
        units = unit_figure.sides[0][1].units
        note = "; ".join(filter(None, (unit_figure.note, _pooled(units, by), _generations(units))))
        one = estimated(
            dict(zip(by, key, strict=True)), unit_figure.inference(), unit_figure.n, unit_figure.unit, note, level
        )
        values = tuple(unit.value for unit in per_match(rows).values())
        one = replace(
            one,
            sd=deviation(values),
            values=values if len(values) < FEW and one.method != "exact" else (),
            rows=len(rows),
            averaged_over=measured.averaged(rows, by, balance),
        )
        estimates.append(with_failed(one, measured, unit_figure, [one.key]))
    return estimates


Value = TypeVar("Value")


def require_any(
    estimates: Sequence[Value], part: Measure, data: Sequence[RunData], *, compared: bool = False, where: Where = None
) -> Sequence[Value]:
    """Return the estimates (or values); raise an error with the reason if there are none."""
    measure = part.name
    if not estimates:
        if not any(run.records(f"SELECT 1 FROM matches WHERE {DONE} LIMIT 1") for run in data):
            names = join_words([run.name for run in data])
            raise UsageError(f"{measure}: no match of {names} is finished ({so_far(data) or 'none was played'})")
        values = [row.get("value") for run in data for row in part.rows(run)]
        if values and all(value is None for value in values):
            raise UsageError(f"{measure}: gives no number (NULL) in all of its {len(values):,} rows")
        if values and where and not observations(data, part, where, ALL).rows:
            raise UsageError(f"{measure}: the condition selects none of its {how_many(len(values), 'value')}: {where}")
        what = "two levels of the column in any group" if compared else "a value of it"
        why = f": {part.without}" if part.without and not compared else ""
        raise UsageError(f"{measure}: no finished match that is asked for has {what}{why}")
    return estimates


def keyed(estimates: Iterable[Estimate], columns: Sequence[str]) -> dict[tuple[Any, ...], Estimate]:
    """Estimates by the values of some columns."""
    return {tuple(one.key[name] for name in columns): one for one in estimates}


def deviation(values: Sequence[float]) -> float | None:
    """The standard deviation with n - 1; None where there is one value or none.

    >>> deviation([1.0, 3.0]), deviation([2.0])
    (1.4142135623730951, None)
    """
    return stdev(values) if len(values) > 1 else None


def contrast(
    data: Runs | Observations,
    measure: str | Mapping[str, Any] | Measure,
    factor: str,
    levels: str | tuple[Any, Any],
    by: Sequence[str] = (),
    *,
    where: Where = None,
    balance: Sequence[str] = (),
    level: float = 0.95,
    agents: Agents = None,
) -> list[Estimate]:
    """The mean at one level of a factor minus that at another: ``contrast(run, "cooperation", "k", "80 - 2")``.

    ``"* - 2"`` compares every other level with 2. Paired wherever units pair: in the same match, or
    with a seed that both share. ``balance`` names columns whose levels weigh the same, as in ``estimate``.
    """
    measured = observations(data, measures.named(measure), where, agents)
    measured.need([factor, *balance])
    estimates: list[Estimate] = []
    pairs = level_pairs(measured, factor, levels) if measured.rows else []
    for key, rows in measured.groups(by).items():
        for first, second in pairs:
            sides = [[row for row in rows if row[factor] == side] for side in (first, second)]
            if all(sides):
                one_comparison = comparison(measured, sides[0], sides[1], factor, by, _apart(balance, sides))
                group = dict(zip(by, key, strict=True))
                one = estimated(
                    {**group, factor: f"{first} - {second}"}, one_comparison.inference(), one_comparison.n,
                    one_comparison.unit, one_comparison.note, level, compares=True,
                )  # fmt: skip
                over = measured.averaged([row for side in sides for row in side], [*by, factor], balance)
                ways = [{**group, factor: side} for side in (first, second)]
                estimates.append(with_failed(replace(one, averaged_over=over), measured, one_comparison, ways))
    return with_holm(estimates)


def _apart(balance: Sequence[str], sides: Sequence[Sequence[Observation]]) -> Sequence[str]:
    """Return the columns whose levels are balanced; refused if players of one match differ in one."""
    units = [unit for side in sides for unit in per_match(side).values()]
    if name := next((n for n in balance if any(len({row[n] for row in u.rows}) > 1 for u in units)), None):
        raise UsageError(f"balance: players of one match differ in {name}; name it in by, or leave it out of balance")
    return balance


def with_holm(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Return comparisons with p-values corrected jointly by Holm's method."""
    p_values = {i: one.p_value for i, one in enumerate(estimates) if one.p_value is not None}
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True)) if p_values else {}
    return [replace(one, p_holm=adjusted.get(i)) for i, one in enumerate(estimates)]


def trend(
    data: Runs | Observations,
    measure: str | Mapping[str, Any] | Measure,
    over: str,
    by: Sequence[str] = (),
    *,
    log: Log = False,
    where: Where = None,
    level: float = 0.95,
    agents: Agents = None,
) -> list[Estimate]:
    """The least-squares slope of a measure over a column of numbers, per unit of x (of ln x, of ln(1 + x)).

    Groups with fewer than two levels have no slope and are left out.
    """
    measured = observations(data, measures.named(measure), where, agents)
    measured.need([over])
    estimates = []
    for key, rows in measured.groups(by).items():
        usable = [row for row in rows if row[over] is not None]
        if len({_number(over, row[over]) for row in usable}) > 1:
            one = estimated(
                {**dict(zip(by, key, strict=True)), "over": over},
                *_slope(measured, usable, over, log, by),
                level=level,
                compares=True,
            )
            estimates.append(replace(one, averaged_over=measured.averaged(usable, [*by, over])))
    return with_holm(estimates)


def estimated(
    key: Mapping[str, Any],
    inference: Inference,
    n: int,
    unit: str,
    note: str = "",
    level: float = 0.95,
    *,
    compares: bool = False,
) -> Estimate:
    """Build an estimate with both intervals; a comparison also has a p-value."""
    limits = inference.limits(level)
    notes = "; ".join(dict.fromkeys(part for text in (limits.note, note) for part in text.split("; ") if part))
    low, high = inference.bounds(level) or (None, None)
    return Estimate(
        key, limits.value, limits.low, limits.high, n, unit, limits.method, notes, level, inference,
        bound_low=low, bound_high=high, p_value=inference.p_value() if compares else None,
    )  # fmt: skip


def partly_exact_mean(
    values: Sequence[float],
    exact: Sequence[bool],
    weights: Sequence[float],
    *,
    clusters: Sequence[Any] | None = None,
    strata: Sequence[Any] | None = None,
    bounds: Bounds = (None, None),
    unit: str = "match",
) -> Inference:
    """Return the weighted mean of values, some of which have no sampling error."""
    side = UnitSide(
        values, range(len(values)) if clusters is None else clusters, strata or [None] * len(values), weights, exact
    )
    return UnitFigure(((1.0, side),), bounds, unit, clustered=strata is None).inference()


def _slope(
    sample: Observations, rows: Sequence[Observation], over: str, log: Log, by: Sequence[str]
) -> tuple[Inference, int, str]:
    # Players of one match may differ in the column.
    units = [u for of in grouped((r[over], r) for r in rows).values() for u in per_match(of, apart=True).values()]
    labels = [sample.label(u) for u in units]
    x = [_number(over, u.rows[0][over]) for u in units]
    # A column that is a copy of x, or constant, distinguishes no conditions.
    names = [n for n in dict.fromkeys((*sample.factors, *SETTING)) if n in sample.columns and n not in (*by, over)]
    tied = [n for n in names if len({(at, u.rows[0][n]) for at, u in zip(x, units, strict=True)}) == len({*x})]
    conditions = [tuple(u.rows[0][n] for n in names if n not in tied) for u in units]
    inference = slope_of(
        x, [u.value for u in units], bounds=bounds_of(rows), log=log, clusters=labels,
        strata=conditions if sample.unit in ("match", "seed") else None, unit=sample.unit, shared=sample.unit == "seed",
        weights=[u.weight for u in units],
    )  # fmt: skip
    return exactly(inference.value) if all(u.exact for u in units) else inference, len(set(labels)), sample.unit


def _pooled(units: Sequence[UnitValue], by: Sequence[str]) -> str:
    """Return a note on differently configured players of one match that count as one agent."""
    if "agent" not in by or "agent_memory" in by or "agent_id" in by:
        return ""
    return (
        "pools players with different memories (agent_memory)"
        if any(len({row.columns.get("agent_memory") for row in unit.rows}) > 1 for unit in units if len(unit.rows) > 1)
        else ""
    )


def _generations(units: Sequence[UnitValue]) -> str:
    """Return a note on generations that count as one match, because each starts from the previous one."""
    return (
        "the generations of a population count as one match"
        if any(len({row["match"] for row in unit.rows}) > 1 for unit in units)
        else ""
    )


def against_all(levels: str | tuple[Any, Any]) -> bool:
    """Return whether a contrast compares every other level with one: ``"* - b"``."""
    return isinstance(levels, str) and levels.lstrip().startswith("*")


def level_pairs(measured: Observations, factor: str, wanted: str | tuple[Any, Any]) -> list[tuple[Any, Any]]:
    """Return the pairs of existing levels for ``a - b`` or ``* - b``."""
    return pairs_of(list(dict.fromkeys(row[factor] for row in measured.rows)), factor, wanted)


def pairs_of(met: Sequence[Any], factor: str, wanted: str | tuple[Any, Any]) -> list[tuple[Any, Any]]:
    """Return the pairs of levels that a contrast ``a - b`` or ``* - b`` names; levels may contain hyphens."""
    levels = {str(level): level for level in met}
    if against_all(wanted):
        one = str(wanted).lstrip()[1:].strip().removeprefix("-").strip()
        if one in levels and len(met) > 1:
            return [(level, levels[one]) for level in met if level != levels[one]]
    pairs = [wanted] if isinstance(wanted, tuple) else []
    if isinstance(wanted, str):
        pieces = wanted.split("-")
        pairs = [("-".join(pieces[:i]).strip(), "-".join(pieces[i:]).strip()) for i in range(1, len(pieces))]
    for first, second in pairs:
        if str(first) in levels and str(second) in levels:
            return [(levels[str(first)], levels[str(second)])]
    pieces = [str(part).strip() for pair in pairs for part in pair]
    near = next(filter(None, (nearest(part, levels) for part in pieces if part not in levels)), None)
    hint = f", did you mean {near!r}?" if near else ""
    raise NoSuchLevel(
        f"contrast {wanted!r} of {factor}: must be two of its levels, 'a - b' or '* - b'{hint} "
        f"(levels: {', '.join(levels)})"
    )


def _number(column: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise UsageError(f"a trend needs numbers in {column} (found {value!r})") from None


__all__ = [
    "Estimate",
    "against_all",
    "contrast",
    "estimate",
    "estimated",
    "fixed",
    "level_pairs",
    "partly_exact_mean",
    "trend",
]


def combined(
    data: Runs | Observations,
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
    measured = observations(data, measures.named(measure), where)
    measured.need([factor])
    estimates = []
    for key, rows in measured.groups(by).items():
        sides = {level: [row for row in rows if row[factor] == level] for level in weights}
        if all(sides.values()):
            unit_figure = figure(measured, [(w, sides[level]) for level, w in weights.items()], (factor, *by))
            one = estimated(
                dict(zip(by, key, strict=True)), unit_figure.inference(), unit_figure.n, unit_figure.unit, compares=True
            )
            estimates.append(
                replace(
                    one,
                    averaged_over=measured.averaged([row for side in sides.values() for row in side], [*by, factor]),
                )
            )
    return estimates
