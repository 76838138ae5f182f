"""Scored replies: judges give each reply three whole numbers, with the machinery of judged corpora.

Journal, resume, forecast, budget and several judges are those of judging. The scores lie beside the run that they are
about, in ``score-<judges>/``; the list of scored decisions only grows, so every arm of a probe asks for what is still
missing and shares the rest.

``scripted/lexicon`` is a judge that counts words: for trying out the pipeline without a model, never for a result. It
reads the prompt that every judge reads and answers in the same form. forward: ten times the share of forward among
forward and reactive terms (0 without a forward one); quality: ten times the share of distinct triples of words (a reply
that goes in circles scores low); specificity: 6 and one more for each round, option or player that it names, at most
10. Echoes of the prompt do not count as terms.

``Probing`` makes the corpus of a probe from runs on disk: collect, ask the judges, run the funnel.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import orjson

from ostrom.answers import Record
from ostrom.costs.forecast import Forecast
from ostrom.engine.plan import Budget
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Result
from ostrom.features.judging.plan import FILES, Judge, JudgePlan, Judging, corpus_name, read_corpus, trace_of
from ostrom.features.words.traces.table import reasoning_of, span_of
from ostrom.games.game import Game
from ostrom.ground.errors import ModelError, UsageError
from ostrom.mechanisms.protocol import Decision, View
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register
from ostrom.probe.funnel import Arm, Corpus, Rules, Stage, build, sieve
from ostrom.probe.terms import FORWARD, lexicons, terms_of
from ostrom.probe.trace import Scores, Trace
from ostrom.studies.run import Run, Watch

SCORES = ("forward", "quality", "specificity")


class Scoring(Judging):
    """A mechanism with one question to a judge: forward-looking, coherence and specificity of a reply."""

    name: ClassVar[str] = "scoring"

    def __init__(self, situation: str, reply: str) -> None:
        super().__init__((), situation, reply)

    def question(self, game: Game) -> Decision:
        """Return the question for the three scores of a reply."""
        lists = {x.name: list(x.terms) for x in lexicons()}
        facts = {
            "forward": lists.pop(FORWARD),
            "reactive": next(iter(lists.values())),
            "situation": self.situation,
            "reply": self.reply,
        }
        return Decision(0, "score", View(game, 0, self.name, facts=facts), score_form())


def score_form() -> Record:
    """Return the answer form of the scores: three whole numbers from 0 to 10."""
    return Record(
        "scores",
        {
            "type": "object",
            "properties": {name: {"type": "integer", "minimum": 0, "maximum": 10} for name in SCORES},
            "required": list(SCORES),
            "additionalProperties": False,
        },
    )


class ScorePlan(JudgePlan):
    """The plan of a run's scores: one unit for each listed decision and judge."""

    kind: ClassVar[str] = "score"
    command: ClassVar[str] = "ostrom more corpus"
    files: ClassVar[tuple[str, ...]] = tuple(
        {"mechanisms/judging.txt": "mechanisms/scoring.txt", "records/motives.txt": "records/scores.txt",
         "turns/judge.txt": "turns/score.txt"}.get(file, file)
        for file in FILES
    )  # fmt: skip

    def description(self) -> dict[str, Any]:
        """What is scored, by whom and how, as plain data."""
        return {k: v for k, v in super().description().items() if k not in ("motives", "shortest")}

    def asks(self, judge: Judge, situation: str, reply: str) -> Judging:  # noqa: ARG002
        """Return the scoring question, the same for every judge."""
        return Scoring(situation, reply)


def score_plan(
    run: Run,
    traces: Sequence[Trace],
    judges: Sequence[Judge],
    *,
    prompts: str | Path | None = None,
    budget: Budget | None = None,
    retries: int = 3,
    policy: str = "fail",
) -> ScorePlan:
    """Return the plan to score a run: earlier listed decisions, then new ones of these traces."""
    name = "score-" + corpus_name(judges)
    old_rows = read_corpus(run.folder.path / name)
    places = {(row["match"], row["step"], row["player"]) for row in old_rows}
    fresh = sorted((t for t in traces if t.place[1:] not in places), key=lambda t: (t.order, t.place))
    listed = [*old_rows, *(_row(run, trace) for trace in fresh)]
    return ScorePlan(run, name, judges, (), listed, prompts=prompts, budget=budget, retries=retries, policy=policy)


def scores_of(plan: ScorePlan) -> dict[tuple[int, int, int], tuple[Scores, ...]]:
    """Return the scores by match, step and seat, of decisions that every judge has scored."""
    by_place: dict[tuple[int, int, int], list[Scores]] = {}
    if not plan.folder.exists or not plan.folder.journal.exists():
        return {}
    with plan.folder.open_journal() as journal:
        done = {unit for unit, state in journal.states().items() if state == "done"}
        for index in range(len(plan)):
            if index in done:
                row, _ = plan.place(index)
                value = journal.answers(index)[0, 0, ""][0].value
                by_place.setdefault((row["match"], row["step"], row["player"]), []).append(
                    Scores(*(int(value[name]) for name in SCORES))
                )
    return {place: tuple(of) for place, of in by_place.items() if len(of) == len(plan.judges)}


def _row(run: Run, trace: Trace) -> dict[str, Any]:
    call_trace = trace_of(run, trace.match, trace.step, trace.seat - 1)
    assert call_trace is not None, "a collected trace has a reply"
    return {"match": trace.match, "step": trace.step, "player": trace.seat, "model": trace.model,
            "game": trace.game, "call": call_trace.call}  # fmt: skip


NAME = "lexicon"
MODEL = f"scripted/{NAME}"
_NAMED = re.compile(r"\b(?:round\s+\d+|R\d+|A\d+|players?\s+\d+)\b", re.IGNORECASE)


def install() -> None:
    """Register ``scripted/lexicon`` as a model of this process."""
    register(NAME, _answer)


def scored(reply: str, prompt: str) -> Scores:
    """The scores of a reply.

    >>> scored("In round 2 player 2 chose A0, and a good reputation pays in the future.", "Choose.")
    Scores(forward=10, quality=10, specificity=9)
    """
    terms = terms_of(reply, prompt)
    forward = terms.forward / (terms.forward + terms.reactive) if terms.forward else 0.0
    words = [word.lower() for word in reply.split()]
    triples = list(zip(words, words[1:], words[2:], strict=False))
    quality = len(set(triples)) / len(triples) if triples else 0.0
    named = {match.group().lower() for match in _NAMED.finditer(reply)}
    return Scores(_tenths(forward), _tenths(quality), min(10, 6 + len(named)))


def _tenths(share: float) -> int:
    return int(10 * share + 0.5)


def _answer(request: Request) -> str:
    quoted_lines = [line for line in request.messages[0].content.splitlines() if line.startswith('"')]
    try:
        situation, reply = (orjson.loads(line) for line in quoted_lines[-2:])
    except ValueError:
        raise ModelError(f"{MODEL} reads the shipped prompt of judges only") from None
    return orjson.dumps(asdict(scored(reply, situation))).decode()


class Unscored(Exception):
    """Raised when judges have not scored everything, so that no corpus is made."""

    def __init__(self, result: Result) -> None:
        super().__init__("scores are missing")
        self.result = result


@dataclass
class Probing:
    """The settings for making a corpus, for dry runs and real ones."""

    runs: Sequence[Run]
    judges: Sequence[Judge]
    prompts: Path | None = None
    budget: Budget = field(default_factory=Budget)
    retries: int = 3
    policy: str = "fail"
    options: PlayOptions = field(default_factory=PlayOptions)
    watch: Callable[[], Watch] | None = None
    results: list[Result] = field(default_factory=list)
    forecasts: list[tuple[ScorePlan, Forecast]] = field(default_factory=list)
    scored: int = 0
    """The number of replies scored now; others were scored before."""
    asked: list[Trace] = field(default_factory=list)
    """All scored traces, for the judges' agreement."""

    def __post_init__(self) -> None:
        names = [run.name for run in self.runs]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"two runs are named {name}: rename one, provenance is by the name of the run")

    def corpus(self, arm: Arm, rules: Rules) -> Corpus:
        """Make the corpus; raises Unscored if judges could not finish."""
        return build(collect(list(self.runs)), arm, rules, self._scored, len(self.judges))

    def forecast(self, arm: Arm, rules: Rules) -> list[tuple[ScorePlan, Forecast]]:
        """Return the plan and the forecast of the questions that judges still have to answer, by run."""

        def look(traces: Sequence[Trace]) -> Sequence[Trace]:
            for plan in self._plans(traces):
                run_plans = [p for p, _ in self.forecasts if p.run.name == plan.run.name]
                if plan.corpus and (not run_plans or len(run_plans[-1].corpus) < len(plan.corpus)):
                    self.forecasts = [f for f in self.forecasts if f[0].run.name != plan.run.name]
                    self.forecasts.append((plan, plan.forecast(self.options.rates)))
            return self._with_scores(traces)

        build(collect(list(self.runs)), arm, rules, look, len(self.judges))
        return self.forecasts

    def _scored(self, traces: Sequence[Trace]) -> Sequence[Trace]:
        for plan in self._plans(traces):
            score_count = len(scores_of(plan))
            if score_count == len(plan.corpus):
                continue
            result = plan.play(options=self.options, watch=self.watch() if self.watch else None)
            self.results.append(result)
            if not result.complete:
                raise Unscored(result)
            self.scored += len(plan.corpus) - score_count
        scored_traces = self._with_scores(traces)
        self.asked += scored_traces
        return scored_traces

    def _plans(self, traces: Sequence[Trace]) -> list[ScorePlan]:
        return [
            score_plan(
                run, [t for t in traces if t.run == run.name], self.judges,
                prompts=self.prompts, budget=self.budget, retries=self.retries, policy=self.policy,
            )
            for run in self.runs
        ]  # fmt: skip

    def _with_scores(self, traces: Sequence[Trace]) -> Sequence[Trace]:
        scores_by_place = {
            (run.name, *place): scores
            for run in self.runs
            for place, scores in scores_of(score_plan(run, [], self.judges)).items()
        }
        return [replace(trace, scores=scores_by_place.get(trace.place, ())) for trace in traces]


def collect(runs: list[Run]) -> Stage:
    """Return the first stage: reasoned decisions of models in finished matches."""
    traces: list[Trace] = []
    reasons: dict[tuple[str, int, int, int], str] = {}
    for run in runs:
        for row in run.rows.decisions():
            if row["state"] != "done" or row["kind"] != "act" or row["model"] is None:
                continue
            call_trace = trace_of(run, row["match"], row["step"], row["player"] - 1)
            if call_trace is None:
                reply, reasoning, messages = "", "", []
            else:
                reply, reasoning = call_trace.text, reasoning_of(call_trace.text, label=row["label"])[0]
                messages = run.journal.prompt(call_trace.call) or []
            length = row.get("history_length")
            trace = Trace(
                run.name, row["match"], row["step"], row["player"], row["model"], row["game"],
                length if isinstance(length, int) else span_of(row["agent_memory"]).length,
                str(row["action"]), row["cooperative"], tuple((role, text) for role, text in messages),
                reply, reasoning,
            )  # fmt: skip
            traces.append(trace)
            if row.get("copied"):
                reasons[trace.place] = "copied from another run"
            elif row["invalid"]:
                reasons[trace.place] = "the action was given by the policy"
            elif not reasoning:
                reasons[trace.place] = "an answer without reasoning"
    rule = "play decisions of models in finished matches, answered by the model itself, with reasoning"
    return sieve("collected", rule, traces, lambda t: reasons.get(t.place))
