"""The claims and figures of a paper with ours beside them: each from the runs of its own arm, each with a verdict."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ostrom.analysis.claims import games_of, references
from ostrom.analysis.comparison import Line, compare
from ostrom.analysis.estimate import Estimate, Query
from ostrom.analysis.intervals.moderated import Prior, prior_of
from ostrom.analysis.measure import measures
from ostrom.analysis.published import published_beside
from ostrom.analysis.references import AGAINST, Own, Reference
from ostrom.data.rundata import RunData
from ostrom.features.replicate.papers import PaperClaim, PaperPlan, Released, paper_plan
from ostrom.features.replicate.verdicts import Interval, PaperVerdict, cell_verdict, claim_verdict, recomputed_verdict
from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.values import grouped
from ostrom.reports.exhibits.declared import Exhibit, exhibits_of
from ostrom.reports.exhibits.shape import meets

ORDER = ("agrees", "differs", "undecided", "not comparable")
NEAR = "near"
"""The status of a printed figure that the released data are known to miss by a little."""


@dataclass(frozen=True)
class PaperRun:
    """A run that gives figures of the paper."""

    data: RunData
    calls: int
    usd: float
    released: Released | None = None
    """What the run is where it holds released data."""
    name: str = ""
    """What tells it apart from the other runs; the last part of its folder by default."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.data.folder.name)

    @property
    def study(self) -> str:
        """The study that was played."""
        return self.released.study if self.released else str(self.data.study["name"])

    @cached_property
    def seeds(self) -> int:
        """How many seeds were played."""
        (row,) = self.data.records("SELECT count(DISTINCT seed) AS n FROM matches WHERE state = 'done'")
        return max(1, int(row["n"]))

    @cached_property
    def agents(self) -> list[str]:
        """The agents that are models."""
        # Released data name their players alone; scripts among them have no printed figure.
        models = "" if self.released else "WHERE model IS NOT NULL"
        rows = self.data.records(f"SELECT DISTINCT agent FROM matches {models} ORDER BY agent")
        named = self.released.agents if self.released else {}
        return [str(row["agent"]) for row in rows if not named or row["agent"] in named]

    @property
    def models(self) -> list[str]:
        """The agents without their variants, which are named after them: ``gpt-4`` but not ``gpt-4 SCoT``."""
        return [one for one in self.agents if not any(one.startswith(f"{other} ") for other in self.agents)]

    @property
    def wording(self) -> str:
        """Whose words the prompts have."""
        if self.data.manifest.get("imported"):
            return "that of the imported data"
        folder = self.data.manifest.get("prompts_folder")
        return f"the folder {folder}" if folder else "ours"


@dataclass(frozen=True)
class ClaimLine:
    """A claim of the first screen, for one model of one run."""

    claim: PaperClaim
    verdict: PaperVerdict
    run: str | None = None
    agent: str | None = None
    estimate: Estimate | None = None
    published: tuple[tuple[str, float], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The claim, its estimate and its verdict as JSON data."""
        one = self.estimate
        return {
            "claim": self.claim.claim,
            "expected": f"{self.claim.expect} {self.claim.threshold:g}",
            "smallest_effect": self.claim.smallest,
            "question": self.claim.words,
            "run": self.run,
            "agent": self.agent,
            "value": one and one.value,
            "low": one and one.low,
            "high": one and one.high,
            "n": one and one.n,
            "published": dict(self.published),
            **self.verdict.as_dict(),
        }


@dataclass(frozen=True)
class JudgedFigure:
    """A printed figure, or the range of several, with an own one beside it."""

    line: Line
    run: str
    verdict: PaperVerdict

    def as_dict(self, columns: Sequence[str]) -> dict[str, Any]:
        """Plain data."""
        return {"run": self.run, **self.line.as_dict(columns), **self.verdict.as_dict()}


@dataclass(frozen=True)
class Replication:
    """All that several runs say about a paper."""

    name: str
    plan: PaperPlan
    paper: Reference
    runs: tuple[PaperRun, ...]
    claims: tuple[ClaimLine, ...]
    exhibits: tuple[tuple[Exhibit, tuple[JudgedFigure, ...]], ...]
    remarks: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many figures have each verdict."""
        return verdict_counts(cell for _, cells in self.exhibits for cell in cells)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
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
    """How many figures have each verdict; verdicts that none has are left out."""
    answers = [cell.verdict.answer for cell in cells]
    return {answer: answers.count(answer) for answer in ORDER if answer in answers}


def replication(paper: str, runs: Sequence[PaperRun], chosen: Sequence[str] = ()) -> Replication:
    """Judge every claim and figure of a paper by the runs of its arms; ``chosen`` sets agents beside models."""
    name, plan = paper_plan(paper)
    reference = references.build(name)
    exhibits = exhibits_of(name)
    known = {study for one in exhibits for study in one.study} | {*plan.studies.values()}
    lines: dict[str, list[tuple[Line, PaperRun]]] = {one.name: [] for one in exhibits}
    remarks: dict[str, list[str]] = {}
    for run in runs:
        made = compare(reference, run.data, games_of(run.data), _beside(chosen, run))
        for remark in made.remarks:
            remarks.setdefault(remark, []).append(run.name)
        for one in exhibits:
            # A run of another study of the paper has exhibits of its own.
            if run.study in one.study or run.study not in known:
                lines[one.name] += [
                    (line, run)
                    for line in made.lines
                    if _of_models(line.own, run) and _belongs(one, reference.columns, line)
                ]
        if run.released is not None and run.released.measure is not None:
            title = measures.named(run.released.measure).title
            remarks.setdefault(f"Claims are judged by {title}: the released data have no actions.", []).append(run.name)
    told = [text if len(of) == len(runs) else f"{', '.join(of)}: {text}" for text, of in remarks.items()]
    claims = tuple(line for claim in plan.claims for line in _claim(plan, claim, runs, reference))
    parts = tuple((one, _judged(plan, lines[one.name])) for one in exhibits)
    return Replication(name, plan, reference, tuple(runs), claims, parts, tuple(told))


def _beside(chosen: Sequence[str], run: PaperRun) -> list[str]:
    """The paper's models of released data, and the choices about agents of this run: another may have others."""
    named = run.released.agents if run.released else {}
    own = [f"{agent}={model}" for agent, model in named.items() if agent in run.agents]
    return [*own, *(text for text in chosen if "=" not in text or text.rpartition("=")[0] in run.agents)]


def _of_models(own: Own, run: PaperRun) -> bool:
    """Whether a figure is of a model, of two that are compared, or of all together."""
    return own.agent is None or {*own.agent.split(AGAINST)} <= {*run.agents}


def _belongs(one: Exhibit, columns: Sequence[str], line: Line) -> bool:
    """Whether an exhibit prints one of the figures of a line."""
    cell = dict(zip(columns, line.cell, strict=True))
    # A figure that several tables print names them all, with commas; names have commas, too.
    printed = any(f", {source}, " in f", {p.source}, " for p in line.figures for source in one.sources)
    return printed and meets(cell, one.where)


def _judged(plan: PaperPlan, lines: Sequence[tuple[Line, PaperRun]]) -> tuple[JudgedFigure, ...]:
    """The figures of one table; those of one measure borrow their variances from each other."""
    priors = {}
    for measure, of in grouped((line.cell[-1], line.own) for line, _ in lines).items():
        known = [own for own in of if own.se]
        priors[measure] = prior_of([(own.se or 0.0) ** 2 * own.matches for own in known], [own.df for own in known])
    return tuple(JudgedFigure(line, run.name, _verdict(plan, line, run, priors[line.cell[-1]])) for line, run in lines)


def _verdict(plan: PaperPlan, line: Line, run: PaperRun, prior: Prior) -> PaperVerdict:
    """What a line says; a figure of another model, or one in doubt, is not judged."""
    own, printed = line.own, line.value
    if printed is None:
        span = "" if line.low is None else f"; its models lie between {line.low:g} and {line.high:g}"
        return PaperVerdict("not comparable", f"{own.agent} is none of the paper's models{span}")
    if run.released is not None and not own.word:
        verdict = recomputed_verdict(own.value, printed, max(p.digits or 0 for p in line.figures))
        if verdict.answer == "agrees" or not (line.doubts or line.status == NEAR):
            return verdict
        if not line.doubts:
            return PaperVerdict("not comparable", "the released data are known to give a figure near the printed one")
    if own.agent is None and run.released is None:
        return PaperVerdict("not comparable", "the paper pools its own models")
    if own.word:
        words = {p.word for p in line.figures}
        return PaperVerdict("agrees" if own.word in words else "differs")
    measure = line.cell[-1]
    if measure not in plan.margins:
        return PaperVerdict("not comparable", f"no margin is declared for {measure}")
    error = 0.0 if plan.spread is None or line.spread is None else plan.spread.error(line.spread)
    verdict = cell_verdict(own, prior, printed, error, plan.margins[measure], run.seeds)
    if verdict.seeds is not None and run.usd:
        verdict = replace(verdict, usd=verdict.seeds * run.usd / run.seeds)
    if line.doubts:
        doubt = f"the printed figure is in doubt ({line.doubts[0]})"
        return replace(verdict, why="; ".join(filter(None, (verdict.why, doubt))))
    return verdict


def _claim(plan: PaperPlan, declared: PaperClaim, runs: Sequence[PaperRun], reference: Reference) -> list[ClaimLine]:
    """A claim for every model of every run of its part."""
    study = plan.studies[declared.run]
    lines, own = [], [run for run in runs if run.study == study]
    for run in own:
        data = reference.of_arms(run.data)
        claim = _by_released(declared, run)
        for agent in _about(claim, run):
            try:
                question = _within(_in_data(claim.of(agent), run), data)
                estimates = question.ask(data)
                published = _published(claim, question, data)
            except OstromError as error:
                lines.append(ClaimLine(claim, PaperVerdict("not comparable", str(error)), run.name, agent))
                continue
            for one in estimates:
                if run.released:  # the data of the paper itself have no other error than that of the paper
                    one = replace(one, low=None, high=None)
                verdict = _claimed(claim, one, run)
                lines.append(ClaimLine(claim, verdict, run.name, agent, one, published))
    if lines:
        # Agents that the question is not about (scripts' partners, variants) give no figure.
        judged = [line for line in lines if line.estimate is not None]
        return judged or lines[:1]
    missing = "no model played in the run" if own else "no run"
    return [ClaimLine(declared, PaperVerdict("not comparable", f"{missing} of the study {study}"))]


def _claimed(claim: PaperClaim, one: Estimate, run: PaperRun) -> PaperVerdict:
    """What an estimate says about a claim, and whether its bounds say the same."""

    def of(low: float | None, high: float | None) -> PaperVerdict:
        fixed = _scenarios(one.unit, one.n)
        interval = Interval(one.value, low, high, run.seeds, run.usd, fixed)
        return claim_verdict(interval, claim.expect, claim.threshold, claim.smallest)

    if run.released is not None:
        return of(one.value, one.value)
    if one.inference is not None and (one.inference.alike or one.inference.problem.startswith("exact")):
        verdict = of(one.value, one.value)
        return replace(verdict, why="by its value: its matches are all alike", approximate=True)
    # Two one-sided tests of a claim that nothing differs take the 90 % interval.
    shown = one.at(0.9) if claim.expect == "equal" and one.inference is not None else one
    verdict = of(shown.low, shown.high)
    same = of(one.bound_low, one.bound_high).answer == verdict.answer != "undecided"
    return replace(verdict, approximate=not same, guaranteed=same)


def _scenarios(unit: str, n: int) -> int | None:
    return n if unit == "scenario" else None


def _by_released(claim: PaperClaim, run: PaperRun) -> PaperClaim:
    """The claim by the measure that released data have in place of its own."""
    if run.released is None or run.released.measure is None:
        return claim
    fields = claim.model_dump()
    if fields["published"] is not None:
        fields["published"]["where"] |= run.released.published
        fields["published"]["scale"] = 1.0
    return PaperClaim(**{**fields, "measure": run.released.measure})


def _about(claim: PaperClaim, run: PaperRun) -> list[str]:
    """The agents that a claim is judged for; of released data only the models that it speaks of."""
    if run.released is None or not claim.about:
        return run.models
    return [agent for agent in run.agents if run.released.agents.get(agent, agent) in claim.about]


def _in_data(question: Query, run: PaperRun) -> Query:
    """The question with the names that released data have for its levels."""
    names = run.released.levels if run.released else {}
    if not names or isinstance(question.where, str):
        return question
    where = {column: names.get(str(level), level) for column, level in question.where.items()}
    factor, equals, pair = question.contrast.partition("=")
    return question.model_copy(update={"where": where, "contrast": f"{factor}{equals}{names.get(pair.strip(), pair)}"})


def _within(question: Query, data: RunData) -> Query:
    """The question about those of its levels that the run has: a smaller preset plays fewer."""
    where = question.where
    if isinstance(where, str):
        return question
    kept = {}
    for column, wanted in where.items():
        known = [str(level) for level in data.levels.get(column, ())]
        kept[column] = [one for one in wanted if str(one) in known] if isinstance(wanted, list) and known else wanted
        if kept[column] == []:
            raise UsageError(f"the run has none of the levels of {column} that the claim is about")
    return question.model_copy(update={"where": kept})


def _published(claim: PaperClaim, question: Query, data: RunData) -> tuple[tuple[str, float], ...]:
    """What the paper's models have; a slope is taken over the levels of the run."""
    if claim.published is None:
        return ()
    beside = published_beside(claim.published, [], question.levels(data))
    return tuple((one.name, one.value) for one in beside)


def released_as(plan: PaperPlan, data: RunData) -> Released | None:
    """What a run is where it was imported from the released data of the paper."""
    return plan.released.get(str((data.manifest.get("imported") or {}).get("mapping_file")))


def check_runs(runs: Sequence[PaperRun], name: str, plan: PaperPlan) -> None:
    """Refuse runs that have nothing to do with the paper."""
    studies = {*plan.studies.values(), *(study for one in exhibits_of(name) for study in one.study)}
    for run in runs:
        reference = (run.data.study.get("report") or {}).get("reference")
        if run.study not in studies and reference != name:
            raise UsageError(
                f"{run.data.folder}: is a run of the study {run.study} (allowed: {', '.join(sorted(studies))})"
            )
