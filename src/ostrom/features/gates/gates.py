"""Gates: statements about a run, each judged pass, fail or undecided by its bounds.

A statement allows a range of values. It passes where the whole interval lies within, fails where the whole interval
lies outside on one side, and is undecided otherwise. Without data, or without an interval, nothing passes. The bounds
are those that hold for every distribution (``ostrom.analysis.intervals.betting``), because a verdict promises an error
rate; where there are none a gate is refused, unless it says ``approximate: true``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator, model_validator

from ostrom.analysis.estimate import Estimate, Query, against_all, key_words, level_pairs
from ostrom.analysis.population import names_agents, population_words
from ostrom.analysis.registered import RegistrationStatus
from ostrom.analysis.statistics.result import count_text
from ostrom.analysis.statistics.samples import ROUNDING, StatisticsError
from ostrom.analysis.units import NoSuchLevel, Observations, as_text
from ostrom.analysis.verdict_files import Answer, VerdictFile, VerdictLine, joint_answer
from ostrom.costs.seeds import SeedPrice
from ostrom.data.manifests import models_of
from ostrom.data.rundata import RunData, quoted
from ostrom.ground.errors import StudyError, UsageError
from ostrom.ground.files import read_text_file
from ostrom.ground.validation import Declared, validate
from ostrom.ground.words import how_many, join_words
from ostrom.ground.yaml import in_words, read_yaml
from ostrom.studies.plan import StudyPlan

BOUNDS = ("at_least", "at_most", "between", "within")
DECISIONS: Mapping[Answer, str] = {"pass": "deploy", "fail": "do not deploy", "undecided": "not yet"}
MOST = 1000
MOST_NAMED = 5
"""The most gate names in one line."""


class GateRule(Query):
    """A gate: a query and the range of allowed values."""

    name: str = Field(min_length=1, max_length=200)
    at_least: float | None = Field(default=None, allow_inf_nan=False)
    at_most: float | None = Field(default=None, allow_inf_nan=False)
    between: tuple[float, float] | None = None
    within: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="a difference of at most so much, in either direction"
    )
    missing: float = Field(
        default=0.0, ge=0, lt=1, description="the share of matches that may be unfinished; more is undecided"
    )
    approximate: bool = Field(
        default=False, description="judged by the interval of `ostrom estimate`: no error rate is guaranteed"
    )

    @model_validator(mode="after")
    def _one_bound(self) -> GateRule:
        bounds = [name for name in BOUNDS if getattr(self, name) is not None]
        if len(bounds) != 1:
            listing = f" (found {join_words(bounds)})" if bounds else ""
            raise ValueError(f"a gate needs exactly one of {', '.join(BOUNDS)}{listing}")
        if self.within is not None and not (self.contrast or self.over):
            raise ValueError("within is for a difference: give contrast or over (for a level: between)")
        low, high = self.between or (0.0, 0.0)
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise ValueError(f"between must be two numbers in order (found {low:g} and {high:g})")
        return self

    @property
    def names_agents(self) -> bool:
        """Return whether the gate names the agents that it is about."""
        return bool(self.agents or self.mean_over_agents) or names_agents(self.where, *self.by, self.pair[0])

    @property
    def allowed(self) -> tuple[float, float]:
        """Return the smallest and the largest allowed value."""
        if self.within is not None:
            return -self.within, self.within
        if self.between is not None:
            return self.between
        low = -math.inf if self.at_least is None else self.at_least
        return low, math.inf if self.at_most is None else self.at_most

    @property
    def statement(self) -> str:
        """Return the gate in words: ``cooperation at least 0.8``."""
        if self.within is not None:
            return f"{self.words} within ±{self.within:g}"
        if self.between is not None:
            return f"{self.words} between {self.between[0]:g} and {self.between[1]:g}"
        low, high = self.allowed
        return f"{self.words} " + (f"at least {low:g}" if math.isfinite(low) else f"at most {high:g}")

    def verdict(self, low: float, high: float) -> Answer:
        """Return the verdict for an interval; differences within rounding count as equal.

        >>> gate = GateRule(name="kind", measure="cooperation", at_least=0.8)
        >>> gate.verdict(0.8, 0.9), gate.verdict(0.1, 0.7), gate.verdict(0.7, 0.9)
        ('pass', 'fail', 'undecided')
        """
        least, most = self.allowed
        slack = ROUNDING * max(1.0, *(abs(x) for x in (low, high, least, most) if math.isfinite(x)))
        if low >= least - slack and high <= most + slack:
            return "pass"
        return "fail" if high < least - slack or low > most + slack else "undecided"


class GateFile(Declared):
    """The gates of one file, with their level."""

    gates: tuple[GateRule, ...] = Field(min_length=1, max_length=MOST)
    level: float = Field(default=0.95, ge=0.5, lt=1)
    simultaneous: bool = Field(
        default=False, description="all intervals hold at once with this level (Bonferroni), not each by itself"
    )

    def for_models(self, models: Sequence[str]) -> GateFile:
        """Return the gates with ``{model}`` replaced by the only model; unchanged if there are several models."""
        if len(models) != 1:
            return self
        return self.model_copy(update={"gates": tuple(gate.for_model(models[0]) for gate in self.gates)})

    def level_of(self, many: int) -> float:
        """Return the level of each interval when there are ``many``."""
        return 1 - (1 - self.level) / max(1, many) if self.simultaneous else self.level

    @field_validator("gates")
    @classmethod
    def _own_names(cls, value: tuple[GateRule, ...]) -> tuple[GateRule, ...]:
        names = [gate.name for gate in value]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two gates have the name {twice[0]!r}")
        return value


@dataclass(frozen=True)
class GateResult:
    """The verdict of one gate for one group of matches."""

    gate: GateRule
    answer: Answer
    estimate: Estimate | None
    key: Mapping[str, Any]
    reason: str
    """The reason for an undecided verdict, or for fewer matches than planned."""
    least: int | None = None
    """The smallest number of units with which the gate can pass; None if it never can, or if unknown."""
    so_far: Answer | None = None
    """The verdict by the finished matches alone, while others are unfinished."""
    more: float | None = None
    """The estimated number of further seeds that would decide the gate (further units if the run cannot continue);
    inf if the estimate lies at the border; None if more seeds do not help or the gate is decided."""

    @property
    def verdict(self) -> str:
        """Return the verdict, with a label where its error rate is not guaranteed or the run is unfinished."""
        sure = not self.gate.approximate or self.estimate is None or self.estimate.method == "exact"
        answer = self.answer if self.so_far is None else f"{self.answer}, so far {self.so_far}"
        return answer if sure else f"{answer}, approximate"

    @property
    def name(self) -> str:
        """Return the gate's name, with the group if the gate has several."""
        columns = ("agent", *self.gate.by)
        more = key_words({k: v for k, v in self.key.items() if k in columns or "*" in self.gate.contrast})
        return f"{self.gate.name} ({more})" if more else self.gate.name

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        least, most = self.gate.allowed
        estimate = None if self.estimate is None else self.estimate.as_dict()
        return {
            "gate": self.gate.name,
            "group": dict(self.key),
            "statement": self.gate.statement,
            "where": self.gate.matches,
            "answer": self.answer,
            "so_far": self.so_far,
            "approximate": self.gate.approximate,
            "reason": self.reason,
            "least": self.least,
            "more": int(self.more) if self.more is not None and math.isfinite(self.more) else None,
            "at_least": least if math.isfinite(least) else None,
            "at_most": most if math.isfinite(most) else None,
            "estimate": None if estimate is None else {k: v for k, v in estimate.items() if k not in self.key},
        }


@dataclass(frozen=True)
class GateReport:
    """The verdicts of all gates."""

    judged: tuple[GateResult, ...]
    level: float
    """The confidence level of each interval."""
    control: str
    """What the confidence level covers, in words."""
    so_far: str = ""
    """The progress of an unfinished run, in words; empty for a finished run."""
    price: SeedPrice | None = None
    """The price of one more seed; None if no gate waits for seeds, or if the run cannot continue."""
    population: str = ""
    """The agents that gates without named agents are about, in words; empty if every gate names some."""

    @property
    def answer(self) -> Answer:
        """Return fail if any gate fails, else undecided if any gate is undecided, else pass."""
        return joint_answer([one.answer for one in self.judged])

    def count(self, answer: Answer) -> int:
        """Return the number of gates with this verdict."""
        return sum(one.answer == answer for one in self.judged)

    @property
    def seeds_to_decide(self) -> float | None:
        """Return about how many more seeds (or units) would decide all gates; None if more do not help."""
        waits = [one.more for one in self.judged if one.answer == "undecided"]
        present = [wait for wait in waits if wait is not None]
        return max(present) if present and len(present) == len(waits) else None

    @property
    def decision(self) -> str:
        """Return the recommended action for this verdict."""
        return DECISIONS[self.answer]

    @property
    def decision_line(self) -> str:
        """Return the recommended action with its reason, in one line."""
        names = join_words([one.name for one in self.judged if one.answer == self.answer][:MOST_NAMED])
        many, all_ = self.count(self.answer), how_many(len(self.judged), "gate")
        names += f" and {many - MOST_NAMED} more" if many > MOST_NAMED else ""
        if self.answer == "pass":
            return f"deploy: {'all ' if len(self.judged) > 1 else ''}{all_} passed"
        if self.answer == "fail":
            return f"do not deploy: {many} of {all_} failed ({names})"
        needed = "" if self.seeds_to_decide is None else f"; {needs(self.seeds_to_decide, self.price)}"
        return f"not yet: {many} of {all_} undecided ({names}){needed}"

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data; ``more`` is the price of the seeds that would likely decide the gates."""
        wait = self.seeds_to_decide
        is_finite = wait is not None and math.isfinite(wait)
        return {
            "answer": self.answer, "decision": self.decision, "level": self.level, "control": self.control,
            "more": self.price.times(wait).as_dict() if is_finite and wait is not None and self.price else None,
            **({"so_far": self.so_far} if self.so_far else {}),
            "judged": [one.as_dict() for one in self.judged],
            **({"population": self.population} if self.population else {}),
        }  # fmt: skip


def needs(more: float, price: SeedPrice | None, unit: str = "match") -> str:
    """Say what would likely decide a gate; ``unit`` is counted where the run cannot continue."""
    if not math.isfinite(more):
        return "the estimate lies at the border, so no number of seeds can be named"
    paid = "" if price is None else f" ({price.times(more).words})"
    named = how_many(int(more), unit if price is None else "seed")
    return f"about {named} more{paid} would decide, if they are like those played"


def judge(
    gates: GateFile, data: RunData, file: str = "gates", price: Callable[[], SeedPrice | None] = lambda: None
) -> GateReport:
    """Judge every gate with a run's data; ``price`` is called only for undecided gates."""
    gates = gates.for_models(models_of(data.manifest))
    answers: dict[str, tuple[list[Estimate], list[tuple[Mapping[str, Any], str]]]] = {}
    for gate in sorted(gates.gates, key=lambda one: str(one.measure)):  # the values of a measure are read once
        try:
            answers[gate.name] = _answers(gate, data)
        except UsageError as error:
            raise UsageError(f"{file}: gate {gate.name!r}: {error}") from None
    questions = [(gate, *answers[gate.name]) for gate in gates.gates]
    many = max(1, sum(len(estimates) for _, estimates, _ in questions))
    level = gates.level_of(many)
    control = (
        f"all {many} intervals hold at once at {gates.level:.4g} for every distribution of the values "
        f"(Bonferroni: {level:.6g} each)"
        if gates.simultaneous
        else f"each interval holds at {gates.level:.4g} for every distribution of the values"
    )
    if any(gate.approximate for gate in gates.gates):
        control += "; those of approximate gates do so for ordinary values only"
    verdicts: list[GateResult] = []
    priced = cache(price)
    seeds = int(data.study.get("seeds") or 1)
    for gate, estimates, lacking in questions:
        absent = _unfinished(gate, data)
        verdicts += [
            _judged(
                gate,
                one.at_level(level, guaranteed=not gate.approximate),
                absent,
                level,
                priced,
                seeds,
                data.so_far if data.playing else "",
            )
            for one in estimates
        ]
        verdicts += [GateResult(gate, "undecided", None, key, why) for key, why in lacking]
    undecided = any(one.more is not None for one in verdicts)
    whose = "" if all(gate.names_agents for gate in gates.gates) else population_words([data], gates=True)
    return GateReport(tuple(verdicts), level, control, data.so_far, priced() if undecided else None, whose)


def _judged(
    gate: GateRule,
    estimate: Estimate,
    absent: tuple[int, int],
    level: float,
    priced: Callable[[], SeedPrice | None],
    seeds: int,
    growing: str,
) -> GateResult:
    """Judge one group; while the run is ``growing`` no verdict is final, whatever ``missing`` allows.

    Such a look was not planned, and the matches that are finished first need not be like the others.
    """
    many, planned = absent
    reason = f"{many} of {planned} matches are not finished" if many else ""
    least = _units(_multiple(gate, estimate, level), estimate.n)
    if many > gate.missing * planned or growing:
        low, high = estimate.low, estimate.high
        return GateResult(
            gate,
            "undecided",
            estimate,
            estimate.key,
            reason or growing,
            least,
            "undecided" if low is None or high is None else gate.verdict(low, high),
        )
    if estimate.low is None or estimate.high is None:
        return GateResult(gate, "undecided", estimate, estimate.key, estimate.note or "there is no interval", least)
    answer = gate.verdict(estimate.low, estimate.high)
    more: float | None = None
    if answer == "undecided":
        why = "the interval lies on both sides"
        if least is not None and estimate.n < least:
            why += f" (it can pass with {count_text(least, estimate.unit)} or more)"
        price = priced()
        more = _more(gate, estimate, level, estimate.n if price is None else seeds)
        decides = "" if more is None else needs(more, price, estimate.unit)
        reason = "; ".join(filter(None, (why, decides, reason)))
    return GateResult(gate, answer, estimate, estimate.key, reason, least, more=more)


def _more(gate: GateRule, estimate: Estimate, level: float, now: int) -> float | None:
    """Return how many units more than ``now`` would decide the gate if they resemble those seen."""
    if estimate.inference is None or estimate.inference.exact:
        return None
    least, most = gate.allowed
    ranges = [(least, most), (-math.inf, least), (most, math.inf)]
    multiple = min(
        estimate.inference.likely_multiple_for(low, high, level)
        for low, high in ranges
        if math.isfinite(low) or math.isfinite(high)
    )
    return max(1, math.ceil(multiple * now - ROUNDING) - now) if math.isfinite(multiple) else math.inf


def _multiple(gate: GateRule, estimate: Estimate, level: float) -> float:
    """Return by which factor the units must grow for the gate to pass, if all new ones are perfect."""
    if gate.approximate or estimate.inference is None or estimate.inference.exact:
        return math.inf
    return estimate.inference.multiple_for(*gate.allowed, level)


def _units(multiple: float, of: int) -> int | None:
    return max(1, math.ceil(multiple * of * (1 - ROUNDING))) if math.isfinite(multiple) else None


def _refuse_approximate(gate: GateRule, estimates: Sequence[Estimate]) -> None:
    for one in estimates:
        if one.inference is not None and one.inference.why_approximate and not gate.approximate:
            raise UsageError(
                f"{gate.measure_object.name}: {one.inference.why_approximate}, so no error rate can be guaranteed "
                "(`approximate: true` judges it by the interval of `ostrom estimate`)"
            )


@dataclass(frozen=True)
class Price:
    """The sample size that a gate needs to be able to pass, and the size that the study plans."""

    gate: str
    least: int | None
    """The number of units, if all of them are perfect; None if unknown."""
    seeds: int | None
    """The same size in seeds."""
    planned: int
    words: str

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {"gate": self.gate, "least": self.least, "seeds": self.seeds, "planned": self.planned}


def prices(gates: GateFile, plan: StudyPlan, file: str = "gates") -> list[Price]:
    """Return the size that every gate of an unplayed study needs; refuse a gate without a guaranteed error rate."""
    from ostrom.studies.design import planned_observations

    questions: list[tuple[GateRule, list[Estimate], str]] = []
    gates = gates.for_models(plan.models)
    for gate in gates.gates:
        try:
            planned = planned_observations(plan, gate)
            # Before play, a value that will be exact is as unknown as the sampled values of the same agent.
            drawn = {row["agent"] for row in planned.rows if not row.exact}
            rows = tuple(replace(row, exact=row.exact and row["agent"] not in drawn) for row in planned.rows)
            questions.append((gate, gate.ask(replace(planned, rows=rows)), ""))
        except (UsageError, StatisticsError) as error:
            questions.append((gate, [], f"{gate.name}: what it needs is not known before it is played ({error})"))
        try:
            _refuse_approximate(gate, questions[-1][1])
        except UsageError as error:
            raise UsageError(f"{file}: gate {gate.name!r}: {error}") from None
    level = gates.level_of(sum(len(estimates) for _, estimates, _ in questions))
    return [
        price
        for gate, estimates, unknown in questions
        for price in (
            [Price(gate.name, None, None, 0, unknown)]
            if unknown
            else [_price(gate, one, level, plan.study.seeds) for one in estimates]
        )
    ]


def _price(gate: GateRule, estimate: Estimate, level: float, seeds: int) -> Price:
    name = GateResult(gate, "undecided", estimate, estimate.key, "").name
    multiple = _multiple(gate, estimate, level)
    least, needed = _units(multiple, estimate.n), _units(multiple, seeds)
    if least is None or needed is None:
        exact = estimate.inference is not None and estimate.inference.exact
        why = "is approximate: nothing is guaranteed" if gate.approximate else (
            "has no sampling error" if exact else "can never pass"
        )  # fmt: skip
        return Price(name, None, None, estimate.n, f"{name}: {why}")
    short = ", so it cannot pass" if estimate.n < least else ""
    words = (
        f"{name}: can pass with {count_text(least, estimate.unit)} or more ({count_text(needed, 'seed')}); planned are "
        f"{count_text(estimate.n, estimate.unit)} ({count_text(seeds, 'seed')}){short}"
    )
    return Price(name, least, needed, estimate.n, words)


def _answers(gate: GateRule, data: RunData) -> tuple[list[Estimate], list[tuple[Mapping[str, Any], str]]]:
    """Return the estimates of a gate, and the groups without an estimate, each with the reason."""
    try:
        rows = gate.values(data)
        estimates = gate.ask(rows) if rows.rows else []
        _refuse_approximate(gate, estimates)
    except NoSuchLevel as error:
        return [], [({}, f"no finished match can be asked: {error}")]
    if not rows.rows:
        return [], [({}, "no finished match that is asked for has a value")]
    lacking = list(_lacking(gate.model_copy(update={"by": gate.split(rows)}), data, rows, estimates))
    if not estimates and not lacking:
        lacking = [({}, "no group has two levels of the column")]
    return estimates, lacking


def _lacking(
    gate: GateRule, data: RunData, rows: Observations, estimates: Sequence[Estimate]
) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield groups that have values but no estimate, and levels of the design without values."""
    factor = gate.pair[0] if gate.contrast and against_all(gate.pair[1]) else None
    pairs = [] if factor is None else level_pairs(rows, *gate.pair)
    named = [{factor: f"{one} - {two}"} for one, two in pairs] if factor is not None else [{}]
    answered = [{name: one.key[name] for name in (*gate.by, *filter(None, [factor]))} for one in estimates]
    for group in rows.groups(gate.by):
        for pair in named:
            key = {**dict(zip(gate.by, group, strict=True)), **pair}
            if key not in answered:
                yield key, "has only one of the levels that are compared"
    for column in filter(None, dict.fromkeys((*gate.by, factor))):
        met = {row[column] for row in rows.rows}
        among = _level_texts(gate.where[column]) if isinstance(gate.where, dict) and column in gate.where else None
        for level in rows.levels.get(column, ()):
            if level not in met and (among is None or as_text(level) in among):
                yield {column: level}, "no finished match has a value at this level"
    # Combinations of levels that were begun but have no value, although each level has values elsewhere.
    fixed = [name for name in gate.by if name in rows.levels]
    if len(fixed) > 1:
        met = {tuple(row[name] for name in fixed) for row in rows.rows}
        levels = [{key[place] for key in met} for place in range(len(fixed))]
        for cell in dict.fromkeys(tuple(row[name] for name in fixed) for row in _matches(gate, data, fixed)):
            if cell not in met and all(level in of for level, of in zip(cell, levels, strict=True)):
                yield dict(zip(fixed, cell, strict=True)), "no finished match has a value at these levels"


def _matches(gate: GateRule, data: RunData, columns: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the match rows that the gate covers, with their state and some columns."""
    where = gate.where
    if isinstance(where, str):
        rows = data.matching_rows(where if where.strip() else "true")
    else:
        filters = [name for name in where if name in data.columns("matches")]
        picked = ", ".join(map(quoted, dict.fromkeys(["match", "state", "unit", *filters, *columns])))
        rows = data.records(f"SELECT DISTINCT {picked} FROM matches ORDER BY match")
        for column in filters:
            rows = [row for row in rows if as_text(row[column]) in _level_texts(where[column])]
    return [row for row in rows if row["unit"] == "match"]


def _unfinished(gate: GateRule, data: RunData) -> tuple[int, int]:
    """Return how many of the gate's matches are unfinished, and how many there are in all.

    Of matches that have not begun only their number is known, so all of them count.
    """
    states = {row["match"]: row["state"] for row in _matches(gate, data)}
    waiting = 0
    if "visits" not in data.rows:  # people may not come, so only those who began count as planned
        (begun,) = data.records("SELECT count(DISTINCT match) AS n FROM matches")
        waiting = data.planned - int(begun["n"])
    return sum(state != "done" for state in states.values()) + waiting, len(states) + waiting


def _level_texts(levels: Any) -> set[str]:
    return {as_text(level) for level in (levels if isinstance(levels, list) else [levels])}


def read_gates(path: str | Path) -> GateFile:
    """Read the gates of a YAML file."""
    data = read_yaml(read_text_file(path), str(path))
    if not isinstance(data, dict):
        raise StudyError(f"must be a mapping with the key gates (found {in_words(data)})", file=str(path))
    return validate(GateFile, data, str(path))


def found_text(one: GateResult) -> str:
    """Return the estimate behind a verdict in one line."""
    return "no estimate" if one.estimate is None else one.estimate.text(3)


def heading(verdict: GateReport) -> str:
    """Return the count of each verdict in one line: ``fail: 1 of 3 passed, 1 failed, 1 undecided``."""
    many = len(verdict.judged)
    counts = [f"{verdict.count('pass')} of {many} passed"]
    others = ((verdict.count("fail"), "failed"), (verdict.count("undecided"), "undecided"))
    counts += [f"{n} {words}" for n, words in others if n]
    return f"{verdict.answer}: {', '.join(counts)}" + (f" ({verdict.so_far})" if verdict.so_far else "")


def verdict_file(verdict: GateReport, run: str, registered: RegistrationStatus) -> VerdictFile:
    """Return the verdicts as a document for other programs (JUnit or Markdown)."""
    lines = [
        VerdictLine(
            one.name, one.gate.statement, one.gate.matches, one.answer, one.verdict, found_text(one), one.reason
        )
        for one in verdict.judged
    ]
    return VerdictFile("gate", "gate", run, heading(verdict), verdict.decision_line, verdict.control, lines, registered)
