"""The questions of a study (``answers`` in a study file), and a run's answers.

A question is a ``Query`` as gates state it, with what counts as which answer: a level, a difference or a slope above,
below or near a value, the range over the levels of factors, or an order of levels. ``d`` is the smallest effect that
matters. Studied agents are asked one by one; what is averaged over is named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

from pydantic import Field, model_validator

from ostrom.analysis.estimate import MODEL, Estimate, Query, contrast, estimate, estimated, level_pairs
from ostrom.analysis.intervals import exactly
from ostrom.analysis.population import ALL, averaged_words, kinds_of, names_agents, studied_agents
from ostrom.analysis.statistics.result import holm
from ostrom.analysis.statistics.samples import ROUNDING
from ostrom.analysis.unit_figures import comparison
from ostrom.analysis.units import NoSuchLevel, Observation, Observations, as_text
from ostrom.analysis.verdicts import p_value
from ostrom.data.rundata import RunData
from ostrom.ground.validation import validate
from ostrom.ground.values import grouped

MARGIN = 0.05
"""The default margin: smaller differences of shares do not matter."""
MOST = 20
"""The most questions of a study."""
MOST_LEVELS = 30
"""The most combinations of levels in a range; all pairs are compared."""
YES, NO, OPEN, EVEN = "YES", "NO", "NOT DECIDED", "NEITHER"
SMALL = "smaller than matters"
BOUNDS = ("above", "below", "near")


class StudyQuestion(Query):
    """One question of ``answers``: a query to a run, and the values that mean yes."""

    name: str = Field(min_length=1, max_length=200, description="the question in words")
    above: float | None = Field(default=None, allow_inf_nan=False, description="yes where the value is larger")
    below: float | None = Field(default=None, allow_inf_nan=False, description="yes where the value is smaller")
    near: float | None = Field(default=None, allow_inf_nan=False, description="yes where it is at most d away")
    range: tuple[str, ...] = Field(
        default=(), description="factors: yes where the largest of their levels is at most d above the smallest"
    )
    order: str = Field(
        default="", description="FACTOR=A>B>C: yes where the levels are in this order; FACTOR alone: their order"
    )
    d: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="the smallest effect that matters")
    pools: tuple[str, ...] = Field(default=(), description="factors that the answer averages over")
    if_yes: str = Field(default="", max_length=100, description="what yes means")
    if_no: str = Field(default="", max_length=100, description="what no means")
    if_even: str = Field(
        default="", max_length=100, description="what it means to lie surely within d of the bound, where that is no no"
    )

    @model_validator(mode="after")
    def _one_answer(self) -> StudyQuestion:
        bounds = [name for name in BOUNDS if getattr(self, name) is not None]
        kinds = [name for name in ("contrast", "over", "range", "order") if getattr(self, name)]
        if len(bounds) > 1:
            raise ValueError(f"{bounds[0]} and {bounds[1]} exclude each other")
        if len(kinds) > 1:
            raise ValueError(f"{kinds[0]} and {kinds[1]} exclude each other")
        if bounds and (self.range or self.order):
            raise ValueError(f"{bounds[0]} is for a level, a contrast or a slope, not for {kinds[0]}")
        if self.balance and (self.range or self.order):
            raise ValueError(f"balance is for a level or a contrast, not for {kinds[0]}")
        if self.if_even and (bounds not in (["above"], ["below"]) or not self.margin):
            raise ValueError("if_even needs above or below, and d")
        return self

    @property
    def margin(self) -> float:
        """Return the smallest effect that matters; 0 if none is declared and the measure is no share."""
        return self.d or (MARGIN if self.measure_object.scale == "share" else 0.0)

    @property
    def compares(self) -> str:
        """Return the column whose levels are compared: of the contrast, slope, range or order; else ``level``."""
        return (self.contrast or self.over or ", ".join(self.range) or self.order or "level").partition("=")[0].strip()

    @property
    def reference(self) -> float:
        """Return the value that the estimate is compared with."""
        return next((bound for name in BOUNDS if (bound := getattr(self, name)) is not None), 0.0)

    @property
    def judged(self) -> bool:
        """Return whether the question has a yes and a no; a level without a bound is only shown."""
        if self.order:
            return "=" in self.order
        return bool(self.contrast or self.over or self.range) or any(getattr(self, name) is not None for name in BOUNDS)

    @property
    def ordered(self) -> tuple[str, tuple[str, ...]]:
        """Return the factor of an order, and its levels from the largest to the smallest."""
        factor, _, levels = self.order.partition("=")
        return factor.strip(), tuple(level.strip() for level in levels.split(">") if level.strip())

    @property
    def named(self) -> tuple[str, ...]:
        """Return the columns that the question separates or names."""
        fixed = () if isinstance(self.where, str) else tuple(self.where)
        factors = (self.pair[0] if self.contrast else "", self.over, self.ordered[0])
        return tuple(filter(None, (*fixed, *factors, *self.range, *self.by, *self.balance, *self.pools)))

    @property
    def how(self) -> str:
        """Describe the question: ``Cooperation, talk: talk - silence, above 0; game trust``."""
        what = f"{self.measure_object.title}{self.words.removeprefix(self.measure_object.name)}"
        if self.range:
            what += f", largest - smallest, at most {self.margin:g}"
        elif self.order:
            factor, levels = self.ordered
            what += f", order of {factor}" + (f": {' > '.join(levels)}" if levels else "")
        elif bound := next((name for name in BOUNDS if getattr(self, name) is not None), None):
            off = f" ±{self.margin:g}" if bound == "near" else ""
            what += f", {bound} {self.reference:g}{off}"
        return "; ".join(filter(None, (what, self.matches)))


def questions_of(study: Mapping[str, Any], file: str) -> list[StudyQuestion]:
    """The questions that a resolved study declares."""
    return [
        validate(StudyQuestion, one, file, f"study.answers.{i}") for i, one in enumerate(study.get("answers") or ())
    ]


@dataclass(frozen=True)
class QuestionFigure:
    """A run's answer to a question about one agent: the figure, and the comparisons behind it."""

    question: StudyQuestion
    agent: str
    """The agent's name; empty if the question compares agents."""
    estimate: Estimate
    parts: tuple[Estimate, ...] = ()
    """For a range: all pairs of levels; for an order: all neighbours."""
    levels: tuple[str, ...] = ()
    """For an order: its levels."""

    @property
    def text(self) -> str:
        """Return an order in words, with ≈ between levels that do not differ significantly; else empty."""
        if not self.question.order:
            return ""
        adjusted = holm([p_value(one, 0.0) for one in self.parts])
        words = self.levels[0]
        for level, one, p in zip(self.levels[1:], self.parts, adjusted, strict=True):
            apart = p <= 1 - one.level and one.inference is not None and one.inference.decides
            words += f" {('>' if one.value > 0 else '<') if apart else '≈'} {level}"
        return words

    @property
    def group_label(self) -> str:
        """Return the group and the agent: ``game trust, alpha``."""
        question = self.question
        plain = {*question.by} | ({question.pair[0]} if "*" in question.contrast else set())
        groups = [
            as_text(level) if name == "agent" else f"{name} {as_text(level)}"
            for name, level in self.estimate.key.items()
            if name in plain
        ]
        return ", ".join([*groups, *filter(None, [self.agent])])

    @property
    def how(self) -> str:
        """Describe the question and what is averaged over."""
        over = averaged_words(self.estimate.averaged_over)
        largest = f"largest: {self.estimate.key['range']}" if self.question.range else ""
        return "; ".join(filter(None, (self.question.how, largest, over)))


def figures(question: StudyQuestion, data: RunData) -> list[QuestionFigure]:
    """Return a run's answers to a question: one figure for each agent and group.

    A value of a match counts for every agent that has a seat in it.
    """
    if MODEL in question.contrast or MODEL in str(question.where):
        return [figure for name in studied_agents(data) for figure in _of_model(question.for_model(name), data)]
    values = _values(question, data)
    if question.mean_over_agents or names_agents(question.where, *question.named):
        return _figures(question, values, "")
    everyone, own = kinds_of(data), studied_agents(data)
    chosen = dict.fromkeys([*own, *everyone]) if ALL in question.agents else question.agents or own
    rows_of = {agent: tuple(row for row in values.rows if agent in _seated(row)) for agent in chosen}
    return [
        figure
        for agent, rows in rows_of.items()
        if rows
        for figure in _figures(question, replace(values, rows=rows), agent if len(everyone) > 1 else "")
    ]


def _seated(row: Observation) -> Sequence[str]:
    """Return the agents behind a value: one player, or all players of a match."""
    return str(row["agent"]).split(" + ") if row.whole else [str(row["agent"])]


def _of_model(question: StudyQuestion, data: RunData) -> list[QuestionFigure]:
    """Return the figures of a question with levels of a model; empty if the model has no such level."""
    try:
        return _figures(question, _values(question, data), "")
    except NoSuchLevel:
        return []


def _values(question: StudyQuestion, data: RunData) -> Observations:
    values = question.values(data)
    values.need(name for name in question.named if name not in (*question.pools, *question.range))
    return values


def _figures(question: StudyQuestion, values: Observations, agent: str) -> list[QuestionFigure]:
    if question.range or question.order:
        kind = _range if question.range else _order
        every = (
            kind(question, replace(values, rows=tuple(rows)), dict(zip(question.by, key, strict=True)))
            for key, rows in values.groups(question.by).items()
        )
        return [_labelled(question, values, agent, figure) for figure in every if figure is not None]
    return [
        _labelled(question, values, agent, QuestionFigure(question, "", one))
        for one in question.estimates(values, question.by)
    ]


def _labelled(question: StudyQuestion, values: Observations, agent: str, figure: QuestionFigure) -> QuestionFigure:
    """Return a figure with its agent, and what it averages over."""
    apart = {*question.by, *question.range, question.over, question.ordered[0], question.pair[0]}
    rows = _behind(question, values, figure.estimate)
    one = replace(
        figure.estimate,
        key={**({"agent": agent} if agent else {}), **figure.estimate.key},
        averaged_over=values.averaged(rows, [name for name in apart if name]),
    )
    parts = figure.parts
    if _repeat_themselves(question, rows):
        one, parts = _exact(one), tuple(map(_exact, parts))
    return replace(figure, agent=agent, estimate=one, parts=parts)


def _behind(question: StudyQuestion, values: Observations, one: Estimate) -> list[Observation]:
    """Return the values behind an estimate."""
    factor, levels = question.pair
    rows = [row for row in values.rows if all(row[name] == one.key[name] for name in question.by)]
    pairs = level_pairs(values, factor, levels) if factor else []
    sides = next((pair for pair in pairs if one.key.get(factor) == f"{pair[0]} - {pair[1]}"), None)
    return rows if sides is None else [row for row in rows if row[factor] in sides]


def _repeat_themselves(question: StudyQuestion, rows: Sequence[Observation]) -> bool:
    """Return whether all matches were repeated, could not differ (temperature 0, no draws) and did not.

    Two matches never decide.
    """
    of_matches = question.measure_object.unit in ("match", "decision")
    played = grouped((row.twin, (row["run"], row["match"])) for row in rows if of_matches and not row.exact)
    return None not in played and bool(played) and all(len(set(of)) > 2 for of in played.values())


def _exact(one: Estimate) -> Estimate:
    """Return the figure of identical repeated matches: without sampling error."""
    exact = estimated(one.key, exactly(one.value), one.n, one.unit, compares=one.p_value is not None)
    return replace(
        exact, note="exact at temperature 0, in these words alone", rows=one.rows, averaged_over=one.averaged_over
    )


def _range(question: StudyQuestion, values: Observations, key: Mapping[str, Any]) -> QuestionFigure | None:
    """Return the largest difference between two combinations of levels, with all pairs behind it."""
    factors = [name for name in question.range if name in values.columns]
    cells = values.groups(factors)
    if not 1 < len(cells) <= MOST_LEVELS:
        return None
    pairs = []
    for one, two in combinations(cells, 2):
        contrast = comparison(values, cells[one], cells[two], factors[0], (*factors, *question.by))
        pairs.append(
            estimated(
                {**key, "range": f"{_joined(one)} - {_joined(two)}"},
                contrast.inference(),
                contrast.n,
                contrast.unit,
                contrast.note,
                compares=True,
            )
        )
    pairs = [pair if pair.value >= 0 else _turned(pair) for pair in pairs]
    largest = max(pairs, key=lambda pair: pair.value)
    return QuestionFigure(question, "", largest, tuple(pairs))


def _turned(pair: Estimate) -> Estimate:
    """Return a difference with its sides exchanged."""
    assert pair.inference is not None
    first, _, second = str(pair.key["range"]).partition(" - ")
    return estimated(
        {**pair.key, "range": f"{second} - {first}"},
        pair.inference.times(-1),
        pair.n,
        pair.unit,
        pair.note,
        compares=True,
    )


def _joined(levels: Sequence[Any]) -> str:
    return "/".join(map(as_text, levels))


def _order(question: StudyQuestion, values: Observations, key: Mapping[str, Any]) -> QuestionFigure | None:
    """Return the differences of neighbours in an order: the stated one, or that of the means."""
    factor, stated = question.ordered
    means = {as_text(one.key[factor]): one for one in estimate(values, question.measure_object, [factor])}
    if unknown := [level for level in stated if level not in means]:
        raise NoSuchLevel(f"order: {factor} has no level {unknown[0]!r} (levels: {', '.join(means)})")
    levels = stated or sorted(means, key=lambda level: -means[level].value)
    neighbours = [
        one
        for first, second in pairwise(levels)
        for one in contrast(
            values, question.measure_object, factor, (means[first].key[factor], means[second].key[factor])
        )
    ]
    if not neighbours:
        return None
    smallest = min(neighbours, key=lambda one: one.value)
    return QuestionFigure(
        question, "", replace(smallest, key={**key, **smallest.key}), tuple(neighbours), tuple(levels)
    )


@dataclass(frozen=True)
class QuestionVerdict:
    """The answer to a question about one agent."""

    word: str
    """YES, NO, NEITHER, NOT DECIDED, or empty if the question has no such answer."""
    meaning: str
    """What the word means, as the study declares it."""
    adjusted: float
    """The p-value, corrected for all questions of the run by Holm's method."""
    guaranteed: bool = False
    """Whether guaranteed bounds give the same answer."""


def verdicts(answered: Sequence[QuestionFigure], alpha: float = 0.05) -> list[QuestionVerdict]:
    """Judge all figures so that the chance of any wrong word is at most ``alpha``."""
    tested = [i for i, one in enumerate(answered) if one.question.judged]
    adjusted = dict(zip(tested, holm([_p_value(answered[i]) for i in tested]), strict=True)) if tested else {}
    return [
        _verdict(one, adjusted[i], alpha, len(tested)) if i in adjusted else QuestionVerdict("", "", 1.0)
        for i, one in enumerate(answered)
    ]


def _p_value(one: QuestionFigure) -> float:
    """Return the p-value of the hypothesis that the value lies on the border between yes and no."""
    question, value = one.question, one.estimate.value
    if question.order:
        ps = [p_value(part, 0.0) for part in one.parts if (part.value <= 0) == (value <= 0)]
        return min(1.0, min(ps) * len(one.parts)) if value <= 0 else max(ps)
    if question.range or question.near is not None:
        off, many = abs(value - question.reference), max(1, len(one.parts))
        edge = question.reference + math.copysign(question.margin, value - question.reference)
        return min(1.0, p_value(one.estimate, edge) * many) if off > question.margin else 1.0
    return p_value(one.estimate, question.reference)


def _verdict(one: QuestionFigure, adjusted: float, alpha: float, many: int) -> QuestionVerdict:
    question, value = one.question, one.estimate.value
    level, t, d = 1 - alpha / many, question.reference, question.margin
    decided = adjusted <= alpha and (one.estimate.inference is None or one.estimate.inference.decides)
    if question.order or question.range or question.near is not None:
        parts = one.parts or (one.estimate,)
        met = decided and value > 0 if question.order else all(_surely(part, t - d, t + d, level) for part in parts)
        word = YES if met else NO if decided and not (question.order and value > 0) else OPEN
        return _worded_verdict(question, word, adjusted, guaranteed=met and not question.order)
    bounds = None if one.estimate.inference is None else one.estimate.inference.bounds(level)
    sure = bounds is not None and (bounds[0] > t or bounds[1] < t)
    high = value > t
    least, most = (
        (-math.inf if question.above is not None else t - d),
        (math.inf if question.below is not None else t + d),
    )
    small = d > 0 and _surely(one.estimate, least, most, level)
    if decided or sure:
        wanted = high if question.above is not None else not high if question.below is not None else True
        verdict = _worded_verdict(question, YES if wanted else NO, adjusted, guaranteed=sure)
        if question.above is None and question.below is None:
            up, down = ("rises", "falls") if question.over else ("higher", "lower")
            verdict = replace(verdict, meaning=", ".join(filter(None, (up if high else down, verdict.meaning))))
        return replace(verdict, word=f"{verdict.word}, {SMALL}") if small and wanted else verdict
    if question.if_even:
        small = _surely(one.estimate, t - d, t + d, level)
    word = OPEN if not small else EVEN if question.if_even else NO
    return _worded_verdict(question, word, adjusted, guaranteed=small and bounds is not None)


def _worded_verdict(question: StudyQuestion, word: str, adjusted: float, *, guaranteed: bool) -> QuestionVerdict:
    return QuestionVerdict(
        word,
        {YES: question.if_yes, NO: question.if_no, EVEN: question.if_even}.get(word, ""),
        adjusted,
        guaranteed and word != OPEN,
    )


def _surely(one: Estimate, low: float, high: float, level: float) -> bool:
    """Return whether a value lies between two others: by guaranteed bounds, or by its interval without them.

    An interval is asked at a level at which each of its ends is as sure as the bounds are.
    """
    if one.inference is None or one.inference.problem:
        return False
    ends = one.inference.bounds(level)
    slack = ROUNDING * max(1.0, *(abs(x) for x in (low, high, one.value) if math.isfinite(x)))
    if ends is not None:
        return ends[0] >= low - slack and ends[1] <= high + slack
    if not low - slack <= one.value <= high + slack or not one.inference.decides:
        return False
    return all(p_value(one, edge) <= 1 - level for edge in (low, high) if math.isfinite(edge))
