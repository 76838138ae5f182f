"""The corpus of a probe from runs on disk: collect, ask the judges, run the funnel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ostrom.costs.forecast import Forecast
from ostrom.engine.plan import Budget
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Result
from ostrom.features.judging.plan import Judge, trace_of
from ostrom.features.words.traces.table import reasoning_of, span_of
from ostrom.ground.errors import UsageError
from ostrom.probe.funnel import Arm, Corpus, Rules, build
from ostrom.probe.scores import ScorePlan, score_plan, scores_of
from ostrom.probe.stages import Stage, sieve
from ostrom.probe.trace import Trace
from ostrom.studies.run import Run, Watch


class Unscored(Exception):
    """The judges have not scored everything: the corpus is not made."""

    def __init__(self, result: Result) -> None:
        super().__init__("scores are missing")
        self.result = result


@dataclass
class Probing:
    """How a corpus is made; the same object serves dry runs and real ones."""

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
    """How many replies judges have scored now; others had been scored before."""
    asked: list[Trace] = field(default_factory=list)
    """All that judges have scored, for their agreement."""

    def __post_init__(self) -> None:
        names = [run.name for run in self.runs]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(
                    f"two runs are named {name}: rename one, provenance is by the name of the run"
                )

    def corpus(self, arm: Arm, rules: Rules) -> Corpus:
        """Make the corpus; raises Unscored where judges could not finish."""
        return build(collected(list(self.runs)), arm, rules, self._scored, len(self.judges))

    def forecast(self, arm: Arm, rules: Rules) -> list[tuple[ScorePlan, Forecast]]:
        """What judges are still to be asked, without asking: a later stage may want more than is known now."""

        def look(traces: Sequence[Trace]) -> Sequence[Trace]:
            for plan in self._plans(traces):
                known = [p for p, _ in self.forecasts if p.run.name == plan.run.name]
                if plan.corpus and (not known or len(known[-1].corpus) < len(plan.corpus)):
                    self.forecasts = [f for f in self.forecasts if f[0].run.name != plan.run.name]
                    self.forecasts.append((plan, plan.forecast(self.options.rates)))
            return self._with_scores(traces)

        build(collected(list(self.runs)), arm, rules, look, len(self.judges))
        return self.forecasts

    def _scored(self, traces: Sequence[Trace]) -> Sequence[Trace]:
        for plan in self._plans(traces):
            known = len(scores_of(plan))
            if known == len(plan.corpus):
                continue
            result = plan.play(options=self.options, watch=self.watch() if self.watch else None)
            self.results.append(result)
            if not result.complete:
                raise Unscored(result)
            self.scored += len(plan.corpus) - known
        found = self._with_scores(traces)
        self.asked += found
        return found

    def _plans(self, traces: Sequence[Trace]) -> list[ScorePlan]:
        return [
            score_plan(
                run, [t for t in traces if t.run == run.name], self.judges,
                prompts=self.prompts, budget=self.budget, retries=self.retries, policy=self.policy,
            )
            for run in self.runs
        ]  # fmt: skip

    def _with_scores(self, traces: Sequence[Trace]) -> Sequence[Trace]:
        known = {
            (run.name, *place): scores
            for run in self.runs
            for place, scores in scores_of(score_plan(run, [], self.judges)).items()
        }
        return [replace(trace, scores=known.get(trace.place, ())) for trace in traces]


def collected(runs: list[Run]) -> Stage:
    """The first stage: decisions of finished matches that a model took by itself and gave reasons for."""
    traces: list[Trace] = []
    reasons: dict[tuple[str, int, int, int], str] = {}
    for run in runs:
        for row in run.rows.decisions():
            if row["state"] != "done" or row["kind"] != "act" or row["model"] is None:
                continue
            found = trace_of(run, row["match"], row["step"], row["player"] - 1)
            if found is None:
                reply, reasoning, messages = "", "", []
            else:
                reply, reasoning = found.text, reasoning_of(found.text, label=row["label"])[0]
                messages = run.journal.prompt(found.call) or []
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
