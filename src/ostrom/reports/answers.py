"""Answers of a run to its study's questions, each with a verdict, and what would decide the open ones.

A study that declares none (``answers``) answers with contrasts of what it varies.
Factors come in the order of ``vary``; those that only say where was played (games, scenarios) come last, and other
contrasts pool them. Levels are compared with the first one; three ordered numbers or more have a trend. A study that
varies nothing answers with its level against the natural reference of its measure.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ostrom.analysis import looks
from ostrom.analysis.estimate import Estimate, contrast, estimate, estimated, trend
from ostrom.analysis.interaction import between_agents
from ostrom.analysis.intervals import Inference
from ostrom.analysis.intervals.kinds import Log
from ostrom.analysis.measure import Measure, measures
from ostrom.analysis.population import averaged_words
from ostrom.analysis.questions import (
    MARGIN,
    NO,
    OPEN,
    YES,
    QuestionFigure,
    StudyQuestion,
    figures,
    questions_of,
    verdicts,
)
from ostrom.analysis.statistics.result import fixed
from ostrom.analysis.stopping import StopRule
from ostrom.analysis.units import NoSuchLevel, bounds_of, observations
from ostrom.analysis.verdicts import Verdict, above
from ostrom.data.rundata import RunData, quoted
from ostrom.ground.errors import OstromError
from ostrom.ground.values import grouped
from ostrom.ground.words import how_many
from ostrom.reports.cells import DONE, agents, levels, varied
from ostrom.reports.panel import Table
from ostrom.reports.words import is_bare, join_labels, labels, number, pretty

MOSTLY = 0.9
"""The share of players that must have a cooperation value for cooperation to be the headline."""
EVEN = 0.5
"""The reference value of a share of choices: half of them."""
MOST_LEVELS = 8
"""The most levels of a factor for which single differences are listed as answers."""
MOST_SETTINGS = 4
"""The most games or scenarios for which differences are listed beside those of other factors."""
MOST_LINES = 8
"""The most lines on the first screen; the table has all."""
MOST_TIMES = 10
"""The largest growth of a run that is advised; beyond it `ostrom power` is named."""
SHRINK = 0.5


@dataclass(frozen=True)
class AnswerLine:
    """One line of the answer."""

    factor: str
    """The compared factor, ``agent``, or empty if a level is compared with its reference."""
    what: str
    """The contrast in words."""
    word: str
    """YES, NO or NOT DECIDED."""
    estimate: Estimate
    """The estimate, with the interval of `ostrom estimate`."""
    adjusted: float
    direction: str
    """The direction in a word; empty if undecided."""
    needs: str
    """What would decide it, in words; empty if decided."""
    note: str
    agent: str = ""
    """The agent of a declared question; empty if the question compares agents."""
    how: str = ""
    """For a declared question: its measure, condition and what it averages over."""
    text: str = ""
    """Text in place of a number: an order."""

    @property
    def value(self) -> str:
        """Return value and interval for readers."""
        if self.text:
            return self.text
        sign = "" if self.factor == "" else "+"
        value, low, high = (_signed(end, sign) for end in (self.estimate.value, self.estimate.low, self.estimate.high))
        if self.estimate.method == "exact":
            return f"{value} (exact)"
        return f"{value} (no interval)" if low is None else f"{value} [{low}, {high}]"

    @property
    def careful(self) -> str:
        """Return notes on confounded factors and skipped matches; other notes are in the table."""
        return "; ".join(part for part in self.note.split("; ") if "also differ" in part or "were skipped" in part)

    @property
    def sentence(self) -> str:
        """The line as one sentence."""
        how = f", {self.direction}" if self.direction else ""
        rest = "; ".join(filter(None, (self.estimate.sample, self.needs, self.careful)))
        what = f"{self.what} ({self.how}):" if self.how else self.what
        return f"{self.word}{how}{': ' if self.word else ''}{what} {self.value} ({rest})."

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        one = self.estimate
        return {
            "answer": self.word, "meaning": self.direction, "question": self.what, "asked": self.how,
            "agent": self.agent or None, "value": one.value, "low": one.low, "high": one.high, "level": one.level,
            "bound_low": one.bound_low, "bound_high": one.bound_high, "p_value": one.p_value,
            "adjusted_p": self.adjusted, "n": one.n, "unit": one.unit, "order": self.text or None,
            "would_decide": self.needs or None, "note": self.note or None,
        }  # fmt: skip


@dataclass(frozen=True)
class ReportAnswers:
    """All answer lines, and how their verdicts were made."""

    measure: Measure
    lines: tuple[AnswerLine, ...]
    control: str
    declared: bool = False
    """Whether the study declares these questions."""
    left_out: tuple[str, ...] = ()
    """Declared questions that this run cannot answer, each with the reason."""
    margin: float = 0.0
    """The margin within which contrasts count as equal; 0 if the measure has no range."""
    between: tuple[str, ...] = ()
    """Lines on whether agents differ, one for each question with several agents."""

    @property
    def summary(self) -> str:
        """Return the first line in a few words, and how many more there are; empty without lines."""
        if not self.lines:
            return ""
        line = self.lines[0]
        word = f"{line.word}, {line.direction}" if line.direction else line.word
        what = f"{self.measure.title}, {line.what}" if line.factor and not self.declared else line.what
        more = f" and {len(self.lines) - 1} more" if len(self.lines) > 1 else ""
        return f"{word}{': ' if word else ''}{what} {line.value}{more}"

    @property
    def rule(self) -> str:
        """Return one line that explains the verdict words."""
        if self.declared:
            words = "YES and NO answer the question of their line, at the smallest effect that matters there (d)."
            return f"{words} NO, and nearness, by the bounds. Intervals are at 95 %; {self.control}."
        if self.lines and not self.lines[0].factor:
            return (
                f"YES: surely more than {EVEN:g}, NO: surely not; interval at 95 %."
                if self.measure.scale == "share"
                else ""
            )
        within = MARGIN if self.measure.scale == "share" else self.margin
        margin = (
            f" NO: surely within ±{within:.3g}, by the bounds."
            if within
            else " NO is not said: this measure has no range (declare d under answers)."
        )
        yes = f"YES: p below 0.05; guaranteed: the bounds leave 0 out too.{margin}"
        return f"{yes} Intervals are at 95 %{self.control and f'; {self.control}'}."

    def table(self) -> Table:
        """Return a table of all lines."""
        if self.declared:
            dicts = [line.as_dict() for line in self.lines]
            return Table("answers", list(dicts[0]), [list(row.values()) for row in dicts], "All answers in numbers.")
        rows = [
            [a.factor or None, a.what, a.word, a.estimate.value, a.estimate.low, a.estimate.high, a.estimate.level,
             a.adjusted, a.estimate.n, a.needs or None, a.note or None, a.estimate.bound_low, a.estimate.bound_high,
             a.estimate.p_value]
            for a in self.lines
        ]  # fmt: skip
        columns = (
            "factor contrast verdict value low high level adjusted_p n would_decide note bound_low bound_high p_value"
        )
        return Table("answers", columns.split(), rows, "All answers in numbers.")


def keep_result(data: RunData, summary: ReportAnswers) -> None:
    """Store the first answer in a few words, for lists of runs."""
    data.keep_result(f"{summary.summary} (so far)" if summary.summary and data.so_far else summary.summary)


def _signed(value: float | None, sign: str) -> str | None:
    if value is None:
        return None
    text = fixed(value, 2 if abs(value) < 100 else 1)
    return f"+{text}" if sign and value > 0 and float(text) else text.replace("-", "−")


def headline_measure(data: RunData) -> str | None:
    """Return the measure of the first screen: cooperation, the study's first chart, or the score."""
    (counts,) = data.records(
        f'SELECT count(cooperation) AS cooperation, count(score) AS score, count(*) AS "all" FROM matches WHERE {DONE}'
    )
    if counts["cooperation"] and counts["cooperation"] >= MOSTLY * counts["all"]:
        return "cooperation"
    for name in _charted(data):
        try:
            if estimate(data, name):
                return name
        except OstromError:
            continue
    return next((name for name in ("cooperation", "score") if counts[name]), None)


def _charted(data: RunData) -> list[str]:
    """Return the measures of charts that the study declares over all its matches, in order."""
    return [
        spec["measure"]
        for spec in (data.study.get("report") or {}).get("panels") or ()
        if isinstance(spec, Mapping) and isinstance(spec.get("measure"), str)
        if not {"where", "contrast", "trend", "facet"} & {*spec}
    ]


def settings(data: RunData) -> list[str]:
    """Return the varied factors whose levels each have their own game."""
    levels_with_games = (
        f"SELECT count(DISTINCT game) AS games, min(game) AS game FROM matches WHERE {DONE} GROUP BY {{}}"
    )
    query = f"SELECT max(games) = 1 AND count(DISTINCT game) = count(*) AS apart FROM ({levels_with_games})"
    return [name for name in varied(data) if data.records(query.format(quoted(name)))[0]["apart"]]


def answer_factors(data: RunData) -> list[str]:
    """Return the columns of the answer in order: factors, then agents, then games."""
    where = settings(data)
    own: list[str] = []
    for name in varied(data):
        if name not in where and not any(tied(data, other, name) for other in own):
            own.append(name)
    return [
        *own,
        *(["agent"] if 1 < len(_compared_agents(data)) <= MOST_LEVELS else []),
        *(name for name in where if not own or len(levels(data, name)) <= MOST_SETTINGS),
    ]


def _compared_agents(data: RunData) -> list[str]:
    """Return the agents to compare: models; all agents if nothing varies and at most one model plays."""
    model_names = {
        row["agent"]
        for row in data.records(f"SELECT agent FROM matches WHERE {DONE} AND model IS NOT NULL GROUP BY agent")
    }
    among_models = bool(varied(data)) or len(model_names) > 1
    return [name for name in agents(data) if name in model_names or not among_models]


def answers(data: RunData) -> ReportAnswers | None:
    """Return the answers of a run; None without a finished match."""
    left_out: list[str] = []
    questions = questions_of(data.study, str(data.folder / "run.json"))
    if questions and (declared := _declared(data, questions, left_out)) is not None:
        return declared
    summary = _contrasts(data)
    return None if summary is None else replace(summary, left_out=tuple(left_out))


def _contrasts(data: RunData) -> ReportAnswers | None:
    """Return the contrasts of varied factors, used if no questions are declared."""
    if (name := headline_measure(data)) is None:
        return None
    measure = measures.named(name)
    where, factors = settings(data), answer_factors(data)
    own = [line for factor in factors if factor not in where for line in _lines(data, measure, factor)]
    # Differences between games are not asked about, so they must not widen the intervals.
    families = [
        [*_registered(data), *own],
        [line for factor in factors if factor in where for line in _lines(data, measure, factor)],
    ]
    look, looked = looks.look_at([data], measure.name, dict.fromkeys(line[0] for lines in families for line in lines))
    margin = margin_of(data, measure)
    answer_lines = [
        _answer(data, measure, line, verdict, Family(len(lines), look, looked, margin))
        for lines in families
        for line, verdict in zip(lines, above([e for _, _, e, _ in lines], level=1 - looks.alpha(look)), strict=True)
    ]
    if not answer_lines:
        return _level_answer(data, measure)
    apart = ", those between games apart" if all(families) else ""
    control = f"the chance of any wrong word is at most 5 % (Holm's method{apart})"
    named_effects = [(what.partition(":")[0], e) for lines in families for _, what, e, _ in lines]
    return ReportAnswers(
        measure, tuple(answer_lines), control if max(map(len, families)) > 1 else "", margin=margin,
        between=tuple(_between(named_effects)),
    )  # fmt: skip


def _declared(data: RunData, questions: Sequence[StudyQuestion], left_out: list[str]) -> ReportAnswers | None:
    """Return the answers to declared questions; None if the run has no value for any of them.

    ``left_out`` takes those that it cannot answer, each with the reason.
    """
    answered: list[QuestionFigure] = []
    for question in questions:
        try:
            question_figures = figures(question, data)
        except OstromError as error:
            left_out.append(f"{question.name} ({_why_not(data, question, error)})")
            continue
        answered += question_figures
        left_out += [] if question_figures else [f"{question.name} (no finished match has a value)"]
    if not answered:
        return None
    compared = grouped((one.question.measure_object.name, one.question.compares) for one in answered)
    look, looked = max(looks.look_at([data], name, dict.fromkeys(factors)) for name, factors in compared.items())
    family = Family(sum(one.question.judged for one in answered) or 1, look, looked)
    lines = []
    for one, verdict in zip(answered, verdicts(answered, looks.alpha(look)), strict=True):
        question, difference = one.question, one.estimate
        needs = (
            _needs(data, difference, question.margin, family, question.reference)
            if (verdict.word == OPEN and not (question.order or question.range))
            else ""
        )
        words = ", ".join(filter(None, (verdict.meaning, "guaranteed" if verdict.guaranteed else "")))
        if data.so_far:
            words = needs = ""
        lines.append(
            AnswerLine(
                "difference" if question.contrast or question.over or question.range else "",
                ": ".join(filter(None, (one.group_label, question.name))), "" if data.so_far else verdict.word,
                replace(difference, p_holm=verdict.adjusted), verdict.adjusted, words, needs,
                _noted(difference, family), one.agent, one.how, one.text,
            )
        )  # fmt: skip
    control = f"the chance of any wrong word is at most {looks.alpha(look):.2g} (Holm's method)"
    return ReportAnswers(
        answered[0].question.measure_object,
        tuple(lines),
        control,
        True,
        tuple(left_out),
        between=tuple(_between([(one.question.name, one.estimate) for one in answered])),
    )


NOT_GROUPS = ("agent", "over")
"""Columns of a key that do not name its group."""


def _between(answered: Iterable[tuple[str, Estimate]]) -> Iterator[str]:
    """Yield lines on whether agents differ, for each question and group with several agents."""
    groups = grouped(
        ((name, ", ".join(f"{column} {level}" for column, level in one.key.items() if column not in NOT_GROUPS)), one)
        for name, one in answered
        if one.key.get("agent") is not None
    )
    for (name, rest), of in groups.items():
        if (difference := between_agents(of)) is not None:
            yield f"{name}{f' ({rest})' if rest else ''}: {difference.words}"


def _why_not(data: RunData, question: StudyQuestion, error: OstromError) -> str:
    """Explain why a run cannot answer a question."""
    columns = {*data.columns("matches"), *question.measure_object.columns}
    if absent := [name for name in question.named if name not in (*columns, *question.pools, *question.range)]:
        return f"{join_labels(absent)} {'are' if len(absent) > 1 else 'is'} not varied here"
    return "its levels were not played" if isinstance(error, NoSuchLevel) else str(error)


def _noted(difference: Estimate, family: "Family") -> str:
    return "; ".join(filter(None, (difference.note, family.looked)))


@dataclass(frozen=True)
class Family:
    """Comparisons that are corrected together, and the number of the look."""

    many: int
    look: int = 1
    looked: str = ""
    margin: float = 0.0
    """For a measure that is no share: 5 % of its range; 0 if it has none."""


Line = tuple[str, str, Estimate, str]
"""A factor, its contrast in words, the difference, and what rises or falls."""


def _registered(data: RunData) -> list[Line]:
    """Return the contrast of the study's stopping rule (``stop``), which comes first; empty without one."""
    if not data.study.get("stop"):
        return []
    rule = StopRule.model_validate(data.study["stop"])
    try:
        return [(rule.pair[0], f"{rule.words} (registered)", e, "") for e in rule.ask(data, rule.level)]
    except OstromError:
        return []


def _lines(data: RunData, measure: Measure, factor: str) -> list[Line]:
    """The contrasts of one factor."""
    values = _compared_agents(data) if factor == "agent" else levels(data, factor)
    ordered = len(values) > 2 and all(map(is_bare, values))
    if len(values) < 2 or (len(values) > MOST_LEVELS and not ordered):
        return []
    try:
        by = observations(data, measure).by_agent((), factor)
        if ordered:
            return _trend(data, measure, factor, [float(level) for level in values], by)
        names = labels(values)
        return [
            (factor, f"{_titled(data, factor)}: {names[level]} − {names[values[0]]}{_whose(e)}", e, "difference")
            for level in values[1:]
            for e in contrast(data, measure, factor, (level, values[0]), by)
        ]
    except OstromError:
        return []


def _whose(one: Estimate) -> str:
    """Return the agent of a line, and what it averages over."""
    parts = one.key.get("agent") or "", averaged_words(one.averaged_over)
    return "".join(f", {part}" for part in parts if part and " - " not in part)


def _titled(data: RunData, factor: str) -> str:
    """Return a factor's title with those factors that change together with it."""
    others = [name for name in varied(data) if name != factor and factor != "agent" and tied(data, factor, name)]
    return pretty(factor) + (f" (with {join_labels(others)})" if others else "")


def tied(data: RunData, one: str, two: str) -> bool:
    """Return whether two factors determine each other."""
    pairs = data.records(f"SELECT DISTINCT {quoted(one)} AS a, {quoted(two)} AS b FROM matches WHERE {DONE}")
    return len(pairs) == len({pair["a"] for pair in pairs}) == len({pair["b"] for pair in pairs})


def _trend(data: RunData, measure: Measure, factor: str, steps: Sequence[float], by: Sequence[str] = ()) -> list[Line]:
    """Return the change along a fitted line from the lowest to the highest level."""
    low, high = min(steps), max(steps)
    wide = low >= 0 and high >= 10 * max(low, 1.0)  # levels spread over orders of magnitude
    log: Log = ("1+x" if low < 1 else True) if wide else False
    scale = {False: lambda x: x, True: math.log, "1+x": math.log1p}[log]
    reach = scale(high) - scale(low)
    what = f"{_titled(data, factor)}: {low:g} → {high:g}, {'trend' if not log else 'trend over its logarithm'}"
    return [
        (factor, f"{what}{_whose(e)}", _times(e, reach), "trend") for e in trend(data, measure, factor, by, log=log)
    ]


def _times(e: Estimate, factor: float) -> Estimate:
    """Return a multiple of an estimate."""
    assert e.inference is not None
    return replace(
        estimated(e.key, e.inference.times(factor), e.n, e.unit, e.note, compares=True), averaged_over=e.averaged_over
    )


def margin_of(data: RunData, measure: Measure) -> float:
    """Return the smallest relevant difference: 5 points of a share, 5 % of another measure's range, else 0."""
    if measure.scale == "share":
        return MARGIN
    rows = observations(data, measure).rows
    low, high = bounds_of(rows) if rows else (None, None)
    return 0.0 if low is None or high is None else MARGIN * (high - low)


def _answer(data: RunData, measure: Measure, line: Line, verdict: Verdict, family: Family) -> AnswerLine:
    factor, what, difference, kind = line
    margin = MARGIN if measure.scale == "share" else family.margin
    # Every comparison may say no, so the bounds for that hold jointly.
    bounds = None if difference.inference is None else difference.inference.bounds(1 - 0.05 / family.many)
    small = bounds is not None and max(map(abs, bounds)) <= margin
    decided, rises = verdict.answer != "undecided", difference.value > 0
    word = (f"{YES}, smaller than matters" if small else YES) if decided else NO if small else OPEN
    sure = "guaranteed" if decided and verdict.guaranteed else ""
    direction = ("rises" if rises else "falls") if kind == "trend" else "higher" if rises else "lower"
    needs = _needs(data, difference, margin, family) if word == OPEN else ""
    if data.so_far:  # an unfinished run has no verdicts yet, and this is no look
        word = direction = sure = needs = ""
    return AnswerLine(
        factor, what, word, replace(difference, p_holm=verdict.adjusted), verdict.adjusted,
        ", ".join(filter(None, (direction if decided else "", sure))), needs, _noted(difference, family),
    )  # fmt: skip


def _level_answer(data: RunData, measure: Measure) -> ReportAnswers:
    """Return the answer of a study that varies nothing."""
    answer_lines = []
    for e in estimate(data, measure, ["agent"] if len(agents(data)) > 1 else []):
        who = f" of {labels([e.key['agent']])[e.key['agent']]}" if e.key else ""
        if measure.scale != "share":
            answer_lines.append(AnswerLine("", f"{measure.title}{who}", "", e, 1.0, "", "", e.note))
            continue
        (verdict,) = above([e], EVEN)
        half = e.method == "exact" and e.value == EVEN  # known to be no more than half
        word = NO if half else {"yes": YES, "no": NO, "undecided": OPEN}[verdict.answer]
        needs = _needs(data, e, 0.0, Family(1), EVEN) if word == OPEN else ""
        what = f"{measure.title}{who}, more than half?"
        answer_lines.append(AnswerLine("", what, word, e, verdict.adjusted, "", needs, e.note))
    return ReportAnswers(measure, tuple(answer_lines), "")


def _needs(data: RunData, e: Estimate, margin: float, family: Family, reference: float = 0.0) -> str:
    """Say how many more seeds would decide a comparison if the values stayed the same, and their price."""
    seeds = _distinct(data, "seed")
    if e.inference is None or e.inference.exact:
        return ""
    if e.inference.problem:
        return "not with this design: more seeds repeat the same matches, more games or wordings would not"
    if e.inference.spread() is None and not e.inference.alike and not e.inference.counts:
        return "too few matches for an interval: at least 5 seeds"
    multiple = decisive_multiple(e.inference, margin, family, reference)
    if multiple > MOST_TIMES:
        return f"more than {MOST_TIMES} x what was played: ostrom power --from RUN"
    if data.study.get("people"):
        return f"about {multiple:.1f} times as many people"
    more = max(1, _about(math.ceil(multiple * seeds) - seeds))
    return f"about {how_many(more, 'more seed')}{_price(data, more / seeds)}"


def decisive_multiple(inference: Inference, margin: float, family: Family, reference: float = 0.0) -> float:
    """Return by which factor units must grow to decide a comparison in most such studies; inf if never.

    The next look has half the level. A difference that is seen is larger than the true one on average, so the true
    one is taken to lie half a standard error nearer to the reference.
    """
    alpha = looks.alpha(family.look + 1) / family.many
    spread = inference.spread()
    if spread is None:  # all alike: p halves with every pair
        if inference.value == reference:
            return _small(inference, margin, family)
        return max(1.0, (1 + math.log2(1 / alpha)) / min(inference.sides)) + 1 / min(inference.sides)
    gap = max(abs(inference.value - reference) - spread[0] * SHRINK, 0.0)
    return min(
        inference.smallest_multiple(lambda ends: (ends[1] - ends[0]) / 2 < gap, 1 - alpha, 2.0 * MOST_TIMES),
        _small(inference, margin, family),
    )


def _small(inference: Inference, margin: float, family: Family) -> float:
    """Return by which factor units must grow to show that the difference is too small to matter."""
    return (
        math.inf
        if not margin or inference.why_approximate
        else inference.likely_multiple_for(-margin, margin, 1 - 0.05 / family.many) * 1.2
    )


def _about(n: int) -> int:
    """Round a number to two digits.

    >>> _about(7), _about(134), _about(2380)
    (7, 130, 2400)
    """
    return n if n < 100 else int(float(f"{n:.2g}"))


def _price(data: RunData, times: float) -> str:
    """Return the cost of that many times the run, if every call has a price."""
    usd = _spent(data) * times
    return f", {usd:,.2f} USD" if usd >= 0.01 else ", less than 0.01 USD" if usd else ""


def _spent(data: RunData) -> float:
    """Return the cost of the run; 0 if some price is unknown."""
    (row,) = data.records(
        "SELECT sum(usd) AS usd, count(*) FILTER (error IS NULL AND usd IS NULL) AS unknown FROM calls"
    )
    return 0.0 if row["unknown"] else row["usd"] or 0.0


def _distinct(data: RunData, column: str) -> int:
    """How many values a column has in the finished matches."""
    return int(data.records(f"SELECT count(DISTINCT {column}) AS n FROM matches WHERE {DONE}")[0]["n"])


def facts(data: RunData) -> str:
    """Describe the run in a few words: study, models, matches and money."""
    models = data.records("SELECT count(DISTINCT model) AS n FROM matches WHERE model IS NOT NULL")[0]["n"]
    done, seeds, spent = _distinct(data, "match"), _distinct(data, "seed"), _spent(data)
    parts = [
        data.study["name"],
        how_many(models, "model") if models else "no model",
        data.so_far or f"{number(done)} {'match' if done == 1 else 'matches'}",
        how_many(seeds, "seed") if not data.study.get("people") else "",
        f"{spent:.2f} USD" if spent else "",
    ]
    return " · ".join(filter(None, parts))
