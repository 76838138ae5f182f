"""Scored replies: judges give each reply three whole numbers, on the machinery of a judged corpus.

Journal, resume, forecast, budget and several judges are those of judging. The scores lie beside the run that they are
about, in ``score-<judges>/``; the list of scored decisions only grows, so every arm of a probe asks for what is still
missing and shares the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from ostrom.answers import Record
from ostrom.engine.plan import Budget
from ostrom.features.judging.plan import FILES, Judge, JudgePlan, Judging, corpus_name, read_corpus, trace_of
from ostrom.games.game import Game
from ostrom.mechanisms.protocol import Decision, View
from ostrom.probe.terms import FORWARD, lexicons
from ostrom.probe.trace import Scores, Trace
from ostrom.studies.run import Run

SCORES = ("forward", "quality", "specificity")


class Scoring(Judging):
    """One question to one judge: how far a reply looks ahead, how coherent and how specific it is."""

    name: ClassVar[str] = "scoring"

    def __init__(self, situation: str, reply: str) -> None:
        super().__init__((), situation, reply)

    def question(self, game: Game) -> Decision:
        """The one question: which scores?"""
        lists = {x.name: list(x.terms) for x in lexicons()}
        forward = lists.pop(FORWARD)
        facts = {
            "forward": forward,
            "reactive": next(iter(lists.values())),
            "situation": self.situation,
            "reply": self.reply,
        }
        return Decision(0, "score", View(game, 0, self.name, facts=facts), score_form())


def score_form() -> Record:
    """Three whole numbers from 0 to 10."""
    number = {"type": "integer", "minimum": 0, "maximum": 10}
    return Record(
        "scores",
        {
            "type": "object",
            "properties": dict.fromkeys(SCORES, number),
            "required": list(SCORES),
            "additionalProperties": False,
        },
    )


class ScorePlan(JudgePlan):
    """The scores of a run: every listed decision by every judge."""

    kind: ClassVar[str] = "score"
    command: ClassVar[str] = "ostrom corpus"
    files: ClassVar[tuple[str, ...]] = tuple(
        {"mechanisms/judging.txt": "mechanisms/scoring.txt", "records/motives.txt": "records/scores.txt",
         "turns/judge.txt": "turns/score.txt"}.get(file, file)
        for file in FILES
    )  # fmt: skip

    def about(self) -> dict[str, Any]:
        """What is scored, by whom and how, as plain data."""
        return {k: v for k, v in super().about().items() if k not in ("motives", "shortest")}

    def asks(self, judge: Judge, situation: str, reply: str) -> Judging:  # noqa: ARG002
        """The same question to every judge."""
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
    """What judges are to score in a run: all that was listed before, then these traces of the run."""
    name = "score-" + corpus_name(judges)
    known = read_corpus(run.folder.path / name)
    places = {(row["match"], row["step"], row["player"]) for row in known}
    fresh = sorted((t for t in traces if t.place[1:] not in places), key=lambda t: (t.order, t.place))
    listed = [*known, *(_row(run, trace) for trace in fresh)]
    return ScorePlan(
        run, name, judges, (), listed, prompts=prompts, budget=budget, retries=retries, policy=policy
    )


def scores_of(plan: ScorePlan) -> dict[tuple[int, int, int], tuple[Scores, ...]]:
    """The scores by match, step and seat, of the decisions that every judge has scored."""
    found: dict[tuple[int, int, int], list[Scores]] = {}
    if not plan.folder.exists or not plan.folder.journal.exists():
        return {}
    with plan.folder.open_journal() as journal:
        done = {unit for unit, state in journal.states().items() if state == "done"}
        for index in range(len(plan)):
            if index in done:
                row, _ = plan.place(index)
                value = journal.answers(index)[0, 0, ""][0].value
                scores = Scores(*(int(value[name]) for name in SCORES))
                found.setdefault((row["match"], row["step"], row["player"]), []).append(scores)
    return {place: tuple(of) for place, of in found.items() if len(of) == len(plan.judges)}


def _row(run: Run, trace: Trace) -> dict[str, Any]:
    found = trace_of(run, trace.match, trace.step, trace.seat - 1)
    assert found is not None, "a collected trace has a reply"
    return {"match": trace.match, "step": trace.step, "player": trace.seat, "model": trace.model,
            "game": trace.game, "call": found.call}  # fmt: skip
