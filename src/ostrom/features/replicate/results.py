"""A paper's claims and figures next to the estimates of runs, each with a verdict."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from ostrom.analysis.claims import games_of, read_mapping, references
from ostrom.analysis.comparison import Line, compare
from ostrom.analysis.estimate import Estimate, Query
from ostrom.analysis.intervals.moderated import NONE, Prior, moderated, prior_of, table_prior
from ostrom.analysis.measure import measures
from ostrom.analysis.published import POOLED, Other, published_beside
from ostrom.analysis.references import AGAINST, Reference, RunFigure
from ostrom.analysis.units import observations
from ostrom.data.rundata import RunData
from ostrom.features.replicate.papers import PaperClaim, PaperPlan, Released, paper_plan
from ostrom.features.replicate.verdicts import (
    ALL_ALIKE,
    ONE_MATCH,
    Interval,
    PaperVerdict,
    by_value,
    cell_verdict,
    claim_verdict,
    count_verdict,
    recomputed_verdict,
)
from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.values import grouped
from ostrom.ground.words import join_words
from ostrom.reports.exhibits.declared import Exhibit, exhibits_of
from ostrom.reports.exhibits.shape import meets

ORDER = ("agrees", "differs", "undecided", "not comparable")
NEAR = "near"
"""The status of a printed figure that the released data are known to miss narrowly."""


@dataclass(frozen=True)
class PaperRun:
    """A run that provides figures of the paper."""

    data: RunData
    calls: int
    usd: float
    released: Released | None = None
    """How the run corresponds to the paper, if it holds released data."""
    name: str = ""
    """A unique name of the run; the last part of its folder by default."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.data.folder.name)

    @property
    def study(self) -> str:
        """The study that was played."""
        return self.released.study if self.released else str(self.data.study["name"])

    @cached_property
    def seeds(self) -> int:
        """How many seeds were played."""
        counts = self.data.records("SELECT count(DISTINCT seed) AS n FROM matches WHERE state = 'done'")
        return max(1, int(counts[0]["n"]))

    @cached_property
    def agents(self) -> list[str]:
        """Return the agents that are models; scripts in released data have no printed figure."""
        models = "" if self.released else "WHERE model IS NOT NULL"
        rows = self.data.records(f"SELECT DISTINCT agent FROM matches {models} ORDER BY agent")
        named = self.released.agents if self.released else {}
        return [str(row["agent"]) for row in rows if not named or row["agent"] in named]

    @property
    def models(self) -> list[str]:
        """Return the agents without variants, whose names extend theirs: ``gpt-4`` but not ``gpt-4 SCoT``."""
        return [one for one in self.agents if not any(one.startswith(f"{other} ") for other in self.agents)]

    @property
    def wording(self) -> str:
        """Return whose wording the prompts use."""
        if self.data.manifest.get("imported"):
            return "that of the imported data"
        folder = self.data.manifest.get("prompts_folder")
        return f"the folder {folder}" if folder else "ours"


@dataclass(frozen=True)
class ClaimLine:
    """A claim and its verdict for one model of one run."""

    claim: PaperClaim
    verdict: PaperVerdict
    run: str | None = None
    agent: str | None = None
    estimate: Estimate | None = None
    """The estimate; for an order, the pair closest to violating it."""
    published: tuple[Other, ...] = ()
    """The published figures: the model's own, or one for each of the paper's models."""
    tally: tuple[int, int, float, float] | None = None
    """For a count: the number of groups that agree, the number of groups, and the interval of the share."""

    @property
    def printed(self) -> tuple[float, float] | None:
        """Return the smallest and the largest printed figure; None without one."""
        return (min(values), max(values)) if (values := [one.value for one in self.published]) else None

    @property
    def direction_alone(self) -> bool:
        """Return whether the paper prints no size that supports the claim, so that only the direction is compared."""
        claim = self.claim
        if claim.count is not None or claim.expect not in ("below", "above"):
            return False
        values = printed_values(claim, self.published)
        return not values or (fmean(values) - claim.threshold) * (1 if claim.expect == "above" else -1) <= 0

    @property
    def group(self) -> dict[str, Any]:
        """Return the group of a claim that is judged by group; empty for other claims."""
        return {} if self.estimate is None or self.tally else {n: self.estimate.key[n] for n in self.claim.by}

    def as_dict(self) -> dict[str, Any]:
        """The claim, its estimate and its verdict as JSON data."""
        one = self.estimate
        return {
            "claim": self.claim.claim,
            "group": self.group,
            "kind": self.claim.kind,
            "expected": f"{self.claim.expect} {self.claim.threshold:g}",
            "smallest_effect": self.claim.smallest,
            "smallest_effect_source": self.claim.source,
            "later_version": self.claim.later,
            "question": self.claim.words,
            "averaged_over": list(self.claim.pools),
            "direction_alone": self.direction_alone,
            "run": self.run,
            "agent": self.agent,
            "value": one and one.value,
            "low": one and one.low,
            "high": one and one.high,
            "bound_low": one and one.bound_low,
            "bound_high": one and one.bound_high,
            "n": self.tally[1] if self.tally else one and one.n,
            "count": self.tally
            and {"yes": self.tally[0], "of": self.tally[1], "low": self.tally[2], "high": self.tally[3]},
            "published": {other.name: other.value for other in self.published},
            "in_doubt": [other.name for other in self.published if other.doubts],
            **self.verdict.as_dict(),
        }


@dataclass(frozen=True)
class JudgedFigure:
    """A printed figure, or a range of them, next to the run's figure."""

    line: Line
    run: str
    verdict: PaperVerdict

    def as_dict(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {"run": self.run, **self.line.as_dict(columns), **self.verdict.as_dict()}


@dataclass(frozen=True)
class Replication:
    """The verdicts of all runs about a paper."""

    name: str
    plan: PaperPlan
    paper: Reference
    runs: tuple[PaperRun, ...]
    claims: tuple[ClaimLine, ...]
    exhibits: tuple[tuple[Exhibit, tuple[JudgedFigure, ...]], ...]
    remarks: tuple[str, ...]

    @property
    def not_played(self) -> dict[str, list[str]]:
        """Return the exhibits without a run, by the studies that would provide them."""
        played = {run.study for run in self.runs}
        return grouped(
            [(" or ".join(one.study), one.name) for one, _ in self.exhibits if one.study and not played & {*one.study}]
        )

    @property
    def decided(self) -> tuple[int, int]:
        """Return how many figures were decided, and how many there are."""
        return sum(self.counts.get(answer, 0) for answer in ("agrees", "differs")), sum(self.counts.values())

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of figures by verdict."""
        return verdict_counts(cell for _, cells in self.exhibits for cell in cells)

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {
            "paper": self.name,
            "citation": self.paper.citation,
            "runs": [
                {"run": run.name, "study": run.study, "calls": run.calls, "usd": run.usd, "seeds": run.seeds,
                 "agents": run.agents, "released": run.released is not None, "wording": run.wording,
                 **({"so_far": run.data.so_far} if run.data.so_far else {})}
                for run in self.runs
            ],
            "claims": [line.as_dict() for line in self.claims],
            "not_judged": [one.model_dump() for one in self.plan.not_judged],
            "not_played": self.not_played,
            "decided": dict(zip(("figures", "of"), self.decided, strict=True)),
            "verdicts": self.counts,
            "published_spread_is": self.paper.spread,
            "exhibits": [
                {"name": one.name, "title": one.title, "not_from_a_run": one.without or None,
                 "figures": [cell.as_dict(self.paper.columns) for cell in cells]}
                for one, cells in self.exhibits
            ],
            "remarks": list(self.remarks),
        }  # fmt: skip


def verdict_counts(cells: Iterable[JudgedFigure]) -> dict[str, int]:
    """Return the number of figures by verdict, without verdicts that do not occur."""
    answers = [cell.verdict.answer for cell in cells]
    return {answer: answers.count(answer) for answer in ORDER if answer in answers}


def replication(paper: str, runs: Sequence[PaperRun], chosen: Sequence[str] = ()) -> Replication:
    """Judge every claim and figure of a paper by its runs; ``chosen`` maps agents to the paper's models."""
    name, plan = paper_plan(paper)
    reference = references.build(name)
    exhibits = exhibits_of(name)
    models = [p.model for p in reference.published() if p.model is not None]
    read_mapping(
        chosen, list(dict.fromkeys(agent for run in runs for agent in run.agents)), list(dict.fromkeys(models))
    )
    study_names = {study for one in exhibits for study in one.study} | {*plan.studies.values()}
    lines: dict[str, list[tuple[Line, PaperRun]]] = {one.name: [] for one in exhibits}
    remarks: dict[str, list[str]] = {}
    for run in runs:
        comparison = compare(reference, run.data, games_of(run.data), _beside(chosen, run))
        for remark in comparison.remarks:
            remarks.setdefault(remark, []).append(run.name)
        for one in exhibits:
            # A run of another study of the paper has its own exhibits.
            if run.study in one.study or run.study not in study_names:
                lines[one.name] += [
                    (line, run)
                    for line in comparison.lines
                    if _of_models(line.own, run) and _belongs(one, reference.columns, line)
                ]
        for measure in run.released.measures.values() if run.released is not None else ():
            remarks.setdefault(
                f"Claims are judged by {measures.named(measure).title}: the released data have no actions.", []
            ).append(run.name)
    notes = [text if len(of) == len(runs) else f"{', '.join(of)}: {text}" for text, of in remarks.items()]
    claims = tuple(judged_claims(plan, runs, reference, chosen))
    parts = tuple((one, _judged(plan, lines[one.name], reference.columns)) for one in exhibits)
    return Replication(name, plan, reference, tuple(runs), claims, parts, tuple(notes))


def printed_values(claim: PaperClaim, others: Sequence[Other]) -> list[float]:
    """The figures of the paper's models, or what its words say where it prints none."""
    return [other.value for other in others] or ([] if claim.size is None else [claim.size])


def _beside(chosen: Sequence[str], run: PaperRun) -> list[str]:
    """Return the mapping of agents to the paper's models that applies to this run."""
    named = run.released.agents if run.released else {}
    own = [f"{agent}={model}" for agent, model in named.items() if agent in run.agents]
    return [*own, *(text for text in chosen if "=" not in text or text.rpartition("=")[0] in run.agents)]


def _of_models(own: RunFigure, run: PaperRun) -> bool:
    """Return whether a figure is of a model, of two compared models, or of all agents together."""
    return own.agent is None or {*own.agent.split(AGAINST)} <= {*run.agents}


def _belongs(one: Exhibit, columns: Sequence[str], line: Line) -> bool:
    """Return whether an exhibit prints one of the figures of a line."""
    # A figure printed in several tables names them all, separated by commas; names may contain commas too.
    return any(f", {source}, " in f", {p.source}, " for p in line.figures for source in one.sources) and meets(
        dict(zip(columns, line.cell, strict=True)), one.where
    )


def _judged(
    plan: PaperPlan, lines: Sequence[tuple[Line, PaperRun]], columns: Sequence[str]
) -> tuple[JudgedFigure, ...]:
    """Judge the figures of one table; figures of one measure share a prior of the variance."""
    priors = {}
    for measure, of in grouped((line.cell[-1], line.own) for line, _ in lines).items():
        noisy = [own for own in of if own.se]
        priors[measure] = prior_of([(own.se or 0.0) ** 2 * own.matches for own in noisy], [own.df for own in noisy])
    return tuple(
        JudgedFigure(line, run.name, _verdict(plan.margin(columns, line.cell), plan, line, run, priors[line.cell[-1]]))
        for line, run in lines
    )


def _verdict(margin: float | None, plan: PaperPlan, line: Line, run: PaperRun, prior: Prior) -> PaperVerdict:
    """Return the verdict on a line; a figure of another model is not judged."""
    own, printed = line.own, line.value
    if printed is None:
        paper_models = "" if line.low is None else f"; its models lie between {line.low:g} and {line.high:g}"
        if own.word:
            paper_models = f"; its models are {join_words(sorted({p.word for p in line.figures}))}"
        return PaperVerdict("not comparable", f"{own.agent} is none of the paper's models{paper_models}.")
    if run.released is not None and not own.word:
        verdict = recomputed_verdict(own.value, printed, max(p.digits or 0 for p in line.figures))
        if verdict.answer == "agrees" or not (line.doubts or line.status == NEAR):
            return verdict
        if not line.doubts:
            return PaperVerdict("not comparable", "The released data are known to give a figure near the printed one.")
        return _with_doubt(verdict, line)
    if own.agent is None and run.released is None:
        return PaperVerdict("not comparable", "The paper pools its own models.")
    if own.word:
        return PaperVerdict("agrees" if own.word in {p.word for p in line.figures} else "differs")
    if margin is None:
        return PaperVerdict("not comparable", f"No margin is declared for {line.cell[-1].replace('_', ' ')}.")
    error = 0.0 if plan.spread is None or line.spread is None else plan.spread.error(line.spread)
    verdict = cell_verdict(own, prior, printed, error, margin, run.seeds)
    if verdict.seeds is not None and run.usd:
        verdict = replace(verdict, usd=verdict.seeds * run.usd / run.seeds)
    return _with_doubt(verdict, line) if line.doubts else verdict


def _with_doubt(verdict: PaperVerdict, line: Line) -> PaperVerdict:
    """Return the verdict on a doubtful printed figure, which may differ as well as agree."""
    return replace(
        verdict, why=" ".join(filter(None, (verdict.why, f"The printed figure is in doubt ({line.doubts[0]}).")))
    )


@dataclass(frozen=True)
class _ClaimCase:
    """A claim applied to one model of one run: the estimates of its queries, or the reason for none."""

    claim: PaperClaim
    run: PaperRun
    agent: str
    estimates: tuple[tuple[Estimate, ...], ...]
    published: tuple[tuple[Other, ...], ...] = ()
    """The published figures for each query."""
    why: str = ""

    @property
    def table(self) -> tuple[str, str]:
        """Return the table of figures that share a prior of the variance with this one."""
        return self.run.name, self.claim.measure_object.name


def judged_claims(
    plan: PaperPlan, runs: Sequence[PaperRun], reference: Reference, chosen: Sequence[str] = ()
) -> Iterator[ClaimLine]:
    """The verdict on every claim, by model and run; estimates of one measure and run share a prior of the variance."""
    questions = {claim.claim: list(_claim_cases(plan, claim, runs, reference, chosen)) for claim in plan.claims}
    tables = grouped(
        (one.table, estimate.inference)
        for of in questions.values() for one in of for several in one.estimates for estimate in several
        if estimate.inference is not None
    )  # fmt: skip
    priors = {table: table_prior(of) for table, of in tables.items()}
    for claim in plan.claims:
        lines = [_line(one, priors.get(one.table, NONE)) for one in questions[claim.claim]]
        if not lines:
            study = plan.studies[claim.run]
            own = any(run.study == study for run in runs)
            why = "No model played in the run." if own else f"There is no run of the study {study}."
            lines = [ClaimLine(claim, PaperVerdict("not comparable", why))]
        # Agents outside the claim (partners of scripts, variants) provide no figure.
        yield from [line for line in lines if line.estimate is not None] or lines[:1]


def _claim_cases(
    plan: PaperPlan, declared: PaperClaim, runs: Sequence[PaperRun], reference: Reference, chosen: Sequence[str]
) -> Iterator[_ClaimCase]:
    study = plan.studies[declared.run]
    for run in (run for run in runs if run.study == study):
        data = reference.of_arms(run.data)
        claim = _by_released(declared, run)
        models = _models(chosen, run, reference)
        for agent in _about(claim, run):
            model = models.get(agent)
            if claim.about and model is not None and model not in claim.about:
                yield _ClaimCase(claim, run, agent, (), why=f"The paper says it of {join_words(claim.about)}.")
                continue
            question: Query = claim
            try:
                estimates = []
                for one in claim.questions:
                    question = _within(_in_data(one.for_model(agent), run), data)
                    estimates.append(tuple(question.ask(data)))
            except OstromError:
                yield _ClaimCase(claim, run, agent, (), why=_reason(question, data))
                continue
            if not all(estimates):
                yield _ClaimCase(claim, run, agent, (), why=_reason(question, data))
            elif claim.by and claim.count is None:
                for of_group in zip(*estimates, strict=True):
                    group = {name: str(of_group[0].key[name]) for name in claim.by}
                    beside = _published(claim, question.levels(data), model, [group])
                    yield _ClaimCase(claim, run, agent, tuple((one,) for one in of_group), beside)
            else:
                yield _ClaimCase(claim, run, agent, tuple(estimates), _published(claim, question.levels(data), model))


def _models(chosen: Sequence[str], run: PaperRun, reference: Reference) -> dict[str, str]:
    """Map each agent of a run to the paper's model that it is compared with."""
    models = list(dict.fromkeys(p.model for p in reference.published() if p.model is not None))
    own = {agent: agent for agent in run.agents if run.data.manifest.get("imported") and agent in models}
    beside = [text for text in _beside(chosen, run) if text.rpartition("=")[2] in models]
    return own | (read_mapping(beside, run.agents, models) if beside else {})


def _reason(question: Query, data: RunData) -> str:
    """Explain in a sentence why a run does not answer a query."""
    part = question.measure_object
    try:
        rows = observations(data, part).rows
    except OstromError:
        return f"The run does not record what {part.title.lower()} needs."
    if not rows:
        return (
            part.without[:1].upper() + part.without[1:]
            if part.without
            else f"No finished match gives {part.title.lower()}."
        )
    wanted: dict[str, list[Any]] = {}
    if isinstance(question.where, Mapping):
        wanted = {name: level if isinstance(level, list) else [level] for name, level in question.where.items()}
    if question.contrast:
        factor, pair = question.pair
        wanted[factor] = [one.strip() for one in pair.split(" - ")]
    for column, levels in wanted.items():
        met = list(dict.fromkeys(str(row.columns.get(column)) for row in rows))
        missing = [str(level) for level in levels if str(level) not in met]
        if missing and (len(missing) == len(levels) or (question.contrast and column == question.pair[0])):
            name = column.replace("_", " ")
            if column in data.columns("matches"):
                return f"Only {name} {join_words(met)} was played, not {join_words(missing)}."
            return f"No match has {name} {join_words(missing)}, only {join_words(met)}."
        rows = tuple(row for row in rows if str(row.columns.get(column)) in map(str, levels))
    return "No match was played that the claim is about."


def _line(question: _ClaimCase, prior: Prior) -> ClaimLine:
    """Return the claim's verdict from its estimates."""
    claim, run = question.claim, question.run
    if not question.estimates:
        return ClaimLine(claim, PaperVerdict("not comparable", question.why), run.name, question.agent or None)
    line = ClaimLine(claim, PaperVerdict("undecided"), run.name, question.agent or None)
    judged = [
        (_claimed(claim, one, run, prior, printed_values(claim, others)), one, others)
        for several, others in zip(question.estimates, question.published, strict=True)
        for one in several
    ]
    if claim.count is not None:
        answers = (v.answer for v, *_ in judged)
        verdict, sure, n, ends = count_verdict(answers, claim.count.number, claim.count.of)
        return replace(line, verdict=verdict, estimate=judged[0][1], tally=(sure, n, *ends))
    # An order differs if one pair does, and agrees if all pairs do.
    rank = {"differs": 0, "undecided": 1, "agrees": 2, "not comparable": 3}
    verdict, one, others = min(judged, key=lambda pair: (rank[pair[0].answer], round(pair[1].value, 9)))
    line = replace(line, published=others)
    if claim.kind == "order":
        verdict = replace(verdict, guaranteed=all(v.guaranteed for v, *_ in judged))
    # The interval behind the verdict is shown; the paper's own data have no further error.
    inference = None if run.released else one.inference
    reach = None if inference is None else moderated(inference, prior, 0.95)
    if inference is None or reach is None:
        return replace(line, verdict=verdict, estimate=replace(one, low=None, high=None))
    low, high = max(reach[0], inference.least), min(reach[1], inference.most)  # within the bounds of the measure
    return replace(line, verdict=verdict, estimate=replace(one, low=low, high=high))


def _claimed(claim: PaperClaim, one: Estimate, run: PaperRun, prior: Prior, printed: Sequence[float]) -> PaperVerdict:
    """Return the verdict of an estimate on a claim, and whether guaranteed bounds agree."""
    inference = one.inference

    def of(low: float | None, high: float | None) -> PaperVerdict:
        interval = Interval(
            one.value, low, high, run.seeds, run.usd, one.n if one.unit == "scenario" else None, claim.scale
        )
        return claim_verdict(interval, claim.expect, claim.threshold, claim.smallest, printed)

    if run.released is not None:
        return of(one.value, one.value)
    # A claim of no difference is judged by two one-sided tests, that is by the 90 % interval.
    ends = None if inference is None else moderated(inference, prior, 0.9 if claim.expect == "equal" else 0.95)
    if inference is None or ends is None:
        several_alike = inference is not None and inference.alike and any(part.n > 1 for part in inference.parts)
        why = ALL_ALIKE if inference is None or inference.exact or several_alike else ONE_MATCH
        interval = Interval(one.value, None, None, run.seeds, scale=claim.scale)
        verdict = by_value(interval, claim.expect, claim.threshold, claim.smallest, printed, why)
    else:
        verdict = of(*ends)
    same = one.bound_low is not None and of(one.bound_low, one.bound_high).answer == verdict.answer != "undecided"
    return replace(verdict, approximate=not same, guaranteed=same)


def _by_released(claim: PaperClaim, run: PaperRun) -> PaperClaim:
    """Return the claim with the measure that the released data have instead of its own, in that unit."""
    instead = run.released.measures.get(str(claim.measure)) if run.released is not None else None
    if run.released is None or instead is None:
        return claim
    fields = claim.model_dump()
    if fields["published"] is not None:
        fields["published"]["where"] |= run.released.published
        fields["published"]["scale"] = 1.0
    return PaperClaim(**{**fields, "measure": instead, "scale": 1.0, "unit": ""})


def _about(claim: PaperClaim, run: PaperRun) -> list[str]:
    """Return the agents for which a claim is judged; in released data only the models that it names.

    A claim that names no model is one about all players, or about people, and is judged once.
    """
    if not claim.names_model:
        named = claim.where.get("agent") if isinstance(claim.where, Mapping) else None
        return [str(named or "all agents")]
    if run.released is None or not claim.about:
        return run.models
    return [agent for agent in run.agents if run.released.agents.get(agent, agent) in claim.about]


def _in_data(question: Query, run: PaperRun) -> Query:
    """Return the query with the level names of the released data, without columns that they lack."""
    if run.released is None or isinstance(question.where, str):
        return question
    names, unknown = run.released.levels, run.released.unknown

    def renamed(level: Any) -> Any:
        return [renamed(one) for one in level] if isinstance(level, list) else names.get(str(level), level)

    where = {column: renamed(level) for column, level in question.where.items() if column not in unknown}
    factor, equals, pair = question.contrast.partition("=")
    sides = " - ".join(names.get(side.strip(), side.strip()) for side in pair.split(" - "))
    return question.model_copy(update={"where": where, "contrast": f"{factor}{equals}{sides}"})


def _within(question: Query, data: RunData) -> Query:
    """Return the query restricted to the levels that the run has: a smaller preset plays fewer.

    A wording that the whole run has is no column of it and needs no condition.
    """
    where = question.where
    if isinstance(where, str):
        return question
    wording = (data.study.get("agent") or {}).get("framing") or {}
    cuts = {}
    for column, wanted in where.items():
        if column not in data.columns("matches") and column in wording and wording[column] == wanted:
            continue
        names = [str(level) for level in data.levels.get(column, ())]
        cuts[column] = [one for one in wanted if str(one) in names] if isinstance(wanted, list) and names else wanted
        if cuts[column] == []:
            raise UsageError(f"the run has no {column} of those that the claim is about")
    return question.model_copy(update={"where": cuts})


def _published(
    claim: PaperClaim, levels: Collection[float] | None, model: str | None, groups: Sequence[Mapping[str, str]] = ()
) -> tuple[tuple[Other, ...], ...]:
    """Return the published figures for each query; a slope is computed over the levels of the run.

    The model's own figure where there is one, otherwise those of the models that the claim is about. A figure of all
    models together is that of the only model in question.
    """
    names = (model,) if model is not None else claim.about
    beside = []
    for question in claim.questions:
        pick = claim.published
        if pick is not None and pick.levels:
            pick = pick.between(*(level.strip() for level in question.pair[1].split(" - ")))
        others = []
        if pick is not None:
            others = published_beside(
                pick, groups if pick.by else (), levels, doubted=True, pooled=not claim.names_model
            )
        own = [other for other in others if not names or other.name in names]
        pooled = [other for other in others if other.name == POOLED]
        if len(claim.about) == 1:
            pooled = [replace(other, name=claim.about[0]) for other in pooled]
        beside.append(tuple(own or pooled))
    return tuple(beside)


def released_as(plan: PaperPlan, data: RunData) -> Released | None:
    """Return how a run corresponds to the paper, if it was imported from the released data; None otherwise."""
    return plan.released.get(str((data.manifest.get("imported") or {}).get("mapping_file")))
