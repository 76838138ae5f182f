"""A judged corpus: a judge labels the motives in every reasoned play decision of a run, on the same engine.

A judgement is a unit of work: one player (the judge), one decision (a record of labels). So limits, retries,
budgets, the journal and exact resume are those of every run. The judged corpus lies beside the run that it is
about, in ``judge-<name>/``: its manifest, its journal, the list of judged decisions and the derived table.

Decisions are judged in a shuffled order that depends on their places alone: whatever part of them has been
judged is a random sample of all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import orjson

from ostrom.agents.config import AgentConfig
from ostrom.agents.policy import check_policy
from ostrom.answers import Record
from ostrom.engine.folder import Folder
from ostrom.engine.plan import Budget, Seated, Unit
from ostrom.engine.runner import Options, Result
from ostrom.features.judging import Motive
from ostrom.features.judging.corpus import SHORTEST, trace_of, write_corpus
from ostrom.framing import Framing, Library
from ostrom.framing.fingerprint import hashes
from ostrom.games.game import Game
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism
from ostrom.mechanisms.protocol import Decision, Outcome, Play, View
from ostrom.models.base import Model
from ostrom.studies.run import Run, Watch, play_plan

POLICIES = ("fail", "skip-match")


@dataclass(frozen=True, slots=True)
class Judge:
    """Who judges: a model, in its first or a later pass."""

    name: str
    model: str
    pass_: int = 1


def judges_of(model: str, second: str | None = None, passes: int = 1) -> tuple[Judge, ...]:
    """One judge, two judges, or several passes of one judge.

    >>> [j.name for j in judges_of("m", passes=2)], [j.name for j in judges_of("m", second="n")]
    (['m (pass 1)', 'm (pass 2)'], ['m', 'n'])
    """
    if second is not None and passes != 1:
        raise UsageError("give a second judge or several passes of one, not both")
    if passes < 1:
        raise UsageError(f"--passes must be at least 1 (found {passes})")
    if second is not None:
        if second == model:
            raise UsageError(f"both judges are {model}: use --passes 2 to ask one judge twice")
        return Judge(model, model), Judge(second, second)
    if passes == 1:
        return (Judge(model, model),)
    return tuple(Judge(f"{model} (pass {n})", model, n) for n in range(1, passes + 1))


class Judging(Mechanism):
    """One question to one judge about one reply."""

    name: ClassVar[str] = "judging"

    def __init__(self, motives: Sequence[Motive], situation: str, reply: str) -> None:
        self.motives, self.situation, self.reply = tuple(motives), situation, reply

    def play(self, game: Game, streams: Streams) -> Play:  # noqa: ARG002
        """Ask for the labels; there is nothing to score."""
        answers = yield [self.question(game)]
        return Outcome([], (), dict(answers[0].value))

    def question(self, game: Game) -> Decision:
        """The one question: which labels?"""
        facts = {
            "motives": [motive.as_dict() for motive in self.motives],
            "situation": self.situation,
            "reply": self.reply,
        }
        return Decision(0, "judge", View(game, 0, self.name, facts=facts), label_form(self.motives))

    def most_decisions(self, game: Game) -> int:  # noqa: ARG002
        """One."""
        return 1


def label_form(motives: Sequence[Motive]) -> Record:
    """Any of the motives or none, a confidence and a short explanation."""
    labels = {
        "type": "array",
        "items": {"type": "string", "enum": [motive.name for motive in motives]},
        "maxItems": len(motives),
        "uniqueItems": True,
    }
    return Record(
        "motives",
        {
            "type": "object",
            "properties": {
                "labels": labels,
                "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                "explanation": {"type": "string", "maxLength": 2000},
            },
            "required": ["labels", "confidence", "explanation"],
            "additionalProperties": False,
        },
    )


FILES = (
    "answers/correction.txt",
    "answers/record_direct.txt",
    "mechanisms/judging.txt",
    "records/motives.txt",
    "stories/neutral.txt",
    "turn.txt",
    "turns/judge.txt",
)
"""The prompt files of a judge."""


class JudgePrompts(Library):
    """The library for judges, who are told their task alone: the game's rules are in what they read."""

    def fill(self, path: str, values: Mapping[str, Any]) -> str:
        """As ever, but the fixed part of a prompt is the task."""
        return str(values["rules"]) if path == "setup.txt" else super().fill(path, values)


class JudgePlan:
    """The judgements of a run: every decision of the corpus by every judge."""

    files: ClassVar[tuple[str, ...]] = FILES

    def __init__(
        self,
        run: Run,
        name: str,
        judges: Sequence[Judge],
        motives: Sequence[Motive],
        corpus: Sequence[Mapping[str, Any]],
        *,
        prompts: str | Path | None = None,
        retries: int = 3,
        policy: str = "fail",
        budget: Budget | None = None,
        max_tokens: int = 1000,
        shortest: int = SHORTEST,
    ) -> None:
        if policy not in POLICIES:
            raise UsageError(
                f"--invalid {policy!r} (allowed: {', '.join(POLICIES)}): labels are never made up"
            )
        check_policy(policy)
        self.run, self.name, self.judges, self.motives = run, name, tuple(judges), tuple(motives)
        self.corpus, self.shortest = list(corpus), shortest
        self.library = JudgePrompts(prompts)
        self.retries, self.policy, self.budget = retries, policy, budget or Budget()
        self.refused = policy  # labels are never made up, whatever they are missing for
        self.models = tuple(dict.fromkeys(judge.model for judge in judges))
        self.params = {"temperature": 0.0, "max_tokens": max_tokens}

    def check(self) -> None:
        """Refuse a run in which there is nothing to judge."""
        if not self.corpus:
            raise UsageError(
                f"{self.run.name}: nothing to judge: no finished match has a play decision by a model with a "
                f"reply of at least {self.shortest} characters"
            )

    def resolved(self) -> dict[str, Any]:
        """What is judged, by whom and how, as plain data."""
        return {
            "kind": "judge",
            "name": self.name,
            "run": self.run.name,
            "judges": [{"name": j.name, "model": j.model, "pass": j.pass_} for j in self.judges],
            "motives": [motive.as_dict() for motive in self.motives],
            "shortest": self.shortest,
            "params": self.params,
            "invalid": {"retries": self.retries, "policy": self.policy},
            "budget": {"calls": self.budget.calls, "tokens": self.budget.tokens, "usd": self.budget.usd},
        }

    def settings(self, model: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Judges are opened as their names say."""
        return {}

    @cached_property
    def prompts(self) -> dict[str, str]:
        """The prompt files that judges are shown, with a hash of each."""
        return hashes(self.library, self.files)

    def __len__(self) -> int:
        return len(self.corpus) * len(self.judges)

    def units(self) -> Iterator[Unit]:
        """Decision by decision, each by all judges."""
        return (self.unit(index) for index in range(len(self)))

    def place(self, index: int) -> tuple[Mapping[str, Any], Judge]:
        """The decision and the judge of a unit."""
        which, who = divmod(index, len(self.judges))
        return self.corpus[which], self.judges[who]

    def unit(self, index: int) -> Unit:
        """One judgement."""
        row, judge = self.place(index)
        mechanism = self.asks(judge, *self.text(row))
        config = AgentConfig(
            model=judge.model, style="direct", params=self.params, framing=Framing(payoffs=None, goal=None)
        )
        cell = {"judged_match": row["match"], "judged_step": row["step"], "judged_player": row["player"]}
        key = orjson.dumps(["judge", self.run.name, *cell.values(), judge.name]).decode()
        return Unit(
            index, key, 0, {**cell, "judge": judge.name}, self.run.plan.unit(row["match"]).game,
            mechanism, (Seated(judge.name, config),), kind="judgement",
        )  # fmt: skip

    def asks(self, judge: Judge, situation: str, reply: str) -> Judging:
        """What a judge is asked about one reply."""
        # A second pass reads the motives in the opposite order: agreement must not hang on their places.
        motives = self.motives if judge.pass_ % 2 else self.motives[::-1]
        return Judging(motives, situation, reply)

    def text(self, row: Mapping[str, Any]) -> tuple[str, str]:
        """What the player was told and what it replied, from the journal of the judged run."""
        found = trace_of(self.run, row["match"], row["step"], row["player"] - 1)
        if found is None or found.call != row["call"]:
            raise RunError(
                f"{self.run.folder.path}: the reply of match {row['match']}, step {row['step']}, player "
                f"{row['player']} is not the one that was to be judged; was the run replaced?"
            )
        messages = self.run.journal.prompt(found.call) or []
        return "\n\n".join(text for role, text in messages[:1] if role == "user"), found.text


def corpus_name(judges: Sequence[Judge]) -> str:
    """The name of a judged corpus where none is given: its judges.

    >>> corpus_name(judges_of("openai/gpt-5", passes=2))
    'openai-gpt-5-2-passes'
    """
    models = list(dict.fromkeys(judge.model for judge in judges))
    passes = f"-{len(judges)}-passes" if len(judges) > len(models) else ""
    return re.sub(r"[^A-Za-z0-9._]+", "-", "-and-".join(models)).strip("-.")[:80] + passes


def judge_run(
    plan: JudgePlan,
    *,
    options: Options | None = None,
    watch: Watch | None = None,
    open_models: Callable[[str, Mapping[str, Any]], Model] | None = None,
) -> Result:
    """Judge, or go on judging; what failed in an earlier session is asked for again."""
    plan.check()

    async def begin(folder: Folder) -> None:
        write_corpus(folder.path, plan.corpus)

    return play_plan(
        plan,  # type: ignore[arg-type]  # a plan of its own kind; it has all that playing asks for
        name=plan.name,
        runs=plan.run.folder.path,
        options=options,
        watch=watch,
        open_models=open_models,
        begin=begin,
    )
