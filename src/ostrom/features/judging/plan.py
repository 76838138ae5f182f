"""A judged corpus: a judge labels the motives in every reasoned play decision of a run, on the same engine.

A judgement is a unit of work: one player (the judge), one decision (a record of labels). So limits, retries,
budgets, the journal and exact resume are those of every run. The judged corpus lies beside the run that it is
about, in ``judge-<name>/``: its manifest, its journal, the list of judged decisions and the derived table.

Decisions are judged in a shuffled order that depends on their places alone: whatever part of them has been
judged is a random sample of all.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import orjson

from ostrom.agents.config import AgentConfig
from ostrom.agents.policy import check_policy
from ostrom.answers import Record
from ostrom.costs.derived import DerivedPlan, SingleQuestion, TaskPrompts
from ostrom.data.tables import TYPES, factor_types, write_parquet
from ostrom.engine.folder import Folder
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Budget, Seated, Unit
from ostrom.features.judging import Motive
from ostrom.features.judging.judgements import JUDGED, motive_column
from ostrom.framing import Framing
from ostrom.games.game import Game
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import draft_of, read_plain, write_atomically
from ostrom.ground.streams import key_of
from ostrom.mechanisms.protocol import Decision, View
from ostrom.studies.run import Run

SHORTEST = 80
"""Replies with fewer characters hold an answer but no reasons (Tewolde et al. 2026)."""
CORPUS = "corpus.jsonl"
MOST_CORPUS = 256 << 20
"""The largest corpus file, in bytes."""
DROPPED = frozenset(
    {"unit", "state", "kind", "label", "payoff", "expected", "probabilities", "p_cooperate", "reading",
     "invalid", "complaints", "note", "copied"}
)  # fmt: skip
"""Columns of a decision that are left out of the judged table."""
POLICIES = ("fail", "skip-match")


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge: a model in its first or a later pass."""

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


class Judging(SingleQuestion):
    """A mechanism with one question to one judge about one reply."""

    name: ClassVar[str] = "judging"

    def __init__(self, motives: Sequence[Motive], situation: str, reply: str) -> None:
        self.motives, self.situation, self.reply = tuple(motives), situation, reply

    def question(self, game: Game) -> Decision:
        """Return the question: which motives does the reply show?"""
        facts = {
            "motives": [asdict(motive) for motive in self.motives],
            "situation": self.situation,
            "reply": self.reply,
        }
        return Decision(0, "judge", View(game, 0, self.name, facts=facts), label_form(self.motives))


def label_form(motives: Sequence[Motive]) -> Record:
    """Return the answer form: a set of motives (or none), a confidence and a short explanation."""
    return Record(
        "motives",
        {
            "type": "object",
            "properties": {
                "labels": {
                    "type": "array",
                    "items": {"type": "string", "enum": [motive.name for motive in motives]},
                    "maxItems": len(motives),
                    "uniqueItems": True,
                },
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


class JudgePlan(DerivedPlan):
    """The plan of a judged corpus: one unit for each decision and judge."""

    kind: ClassVar[str] = "judge"
    command: ClassVar[str] = "ostrom more judge"
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
            raise UsageError(f"--invalid {policy!r} (allowed: {', '.join(POLICIES)}): labels are never made up")
        check_policy(policy)
        super().__init__(
            name,
            run.folder.path,
            tuple(dict.fromkeys(judge.model for judge in judges)),
            TaskPrompts(prompts),
            retries=retries,
            policy=policy,
            budget=budget,
        )
        self.run, self.judges, self.motives = run, tuple(judges), tuple(motives)
        self.corpus, self.shortest = list(corpus), shortest
        self.params = {"temperature": 0.0, "max_tokens": max_tokens}

    def check(self) -> None:
        """Refuse a run without a decision to judge."""
        if not self.corpus:
            raise UsageError(
                f"{self.run.name}: nothing to judge: no finished match has a play decision by a model with a "
                f"reply of at least {self.shortest} characters"
            )

    async def begin(self, folder: Folder) -> None:
        """Write the list of decisions to be judged."""
        write_corpus(folder.path, self.corpus)

    def description(self) -> dict[str, Any]:
        """Return the judged run, the judges, the motives and the parameters, as plain data."""
        return {
            "run": self.run.name,
            "judges": [{"name": j.name, "model": j.model, "pass": j.pass_} for j in self.judges],
            "motives": [asdict(motive) for motive in self.motives],
            "shortest": self.shortest,
            "params": self.params,
        }

    def __len__(self) -> int:
        return len(self.corpus) * len(self.judges)

    def place(self, index: int) -> tuple[Mapping[str, Any], Judge]:
        """Return the decision and the judge of a unit."""
        which, who = divmod(index, len(self.judges))
        return self.corpus[which], self.judges[who]

    def unit(self, index: int) -> Unit:
        """Return the unit of one judgement."""
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
        """Return the question to a judge about one reply."""
        # A second pass lists the motives in reverse, so that agreement does not depend on their order.
        return Judging(self.motives if judge.pass_ % 2 else self.motives[::-1], situation, reply)

    def text(self, row: Mapping[str, Any]) -> tuple[str, str]:
        """Return the prompt and the reply of a judged decision, from the journal of the judged run."""
        trace = trace_of(self.run, row["match"], row["step"], row["player"] - 1)
        if trace is None or trace.call != row["call"]:
            raise RunError(
                f"{self.run.folder.path}: the reply of match {row['match']}, step {row['step']}, player "
                f"{row['player']} is not the one that was to be judged; was the run replaced?"
            )
        messages = self.run.journal.prompt(trace.call) or []
        return "\n\n".join(text for role, text in messages[:1] if role == "user"), trace.text


def corpus_name(judges: Sequence[Judge]) -> str:
    """The default name of a judged corpus: its models and, if several, the number of passes.

    >>> corpus_name(judges_of("openai/gpt-5", passes=2))
    'openai-gpt-5-2-passes'
    """
    models = list(dict.fromkeys(judge.model for judge in judges))
    passes = f"-{len(judges)}-passes" if len(judges) > len(models) else ""
    return re.sub(r"[^A-Za-z0-9._]+", "-", "-and-".join(models)).strip("-.")[:80] + passes


def judged_rows(plan: JudgePlan, journal: Journal) -> Iterator[dict[str, Any]]:
    """Yield every judgement that was started; failed ones have no labels."""
    ended = {unit: (state, reason) for unit, state, reason in journal.endings()}
    for index in sorted({*ended, *{unit for unit in journal.begun() if unit not in ended}}):
        row, judge = plan.place(index)
        state, reason = ended.get(index, ("open", None))
        answer, complaints, _ = journal.answers(index).get((0, 0, ""), (None, 0, None))
        value = answer.value if answer is not None and state == "done" else None
        labels = None if value is None else [m.name for m in plan.motives if m.name in value["labels"]]
        yield {
            **row,
            "judge": judge.name,
            "judge_model": judge.model,
            "pass": judge.pass_,
            "self_judged": same_model(judge.model, row["model"]),
            "judged": state,
            "reason": reason,
            "labels": None if labels is None else ";".join(labels),
            "labelled": None if labels is None else len(labels),
            "confidence": None if value is None else float(value["confidence"]),
            "explanation": None if value is None else value["explanation"],
            "unreadable": complaints,
            **{motive_column(m.name): None if labels is None else m.name in labels for m in plan.motives},
        }


def write_judged(rows: Sequence[Mapping[str, Any]], plan: JudgePlan, folder: Path) -> Path:
    """Write ``judged.parquet`` beside the journal of the corpus."""
    kinds: dict[str, type] = {
        **TYPES,
        **factor_types(plan.run.rows),
        **dict.fromkeys(["pass", "call", "labelled", "unreadable"], int),
        **dict.fromkeys(["self_judged", *(motive_column(m.name) for m in plan.motives)], bool),
        "confidence": float,
    }
    path = folder / JUDGED
    draft = draft_of(path)
    try:
        write_parquet(draft, [dict(row) for row in rows], kinds)
        draft.replace(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None
    return path


def same_model(judge: str, contestant: str | None) -> bool:
    """Return whether the judge and the player are the same model, through whichever provider.

    >>> same_model("openai/gpt-5", "openrouter/openai/gpt-5"), same_model("openai/gpt-5", "openai/gpt-5-mini")
    (True, False)
    """
    return contestant is not None and _bare(judge) == _bare(contestant)


def _bare(model: str) -> str:
    return model.rpartition("#")[2].rpartition("/")[2].lower()


@dataclass(frozen=True, slots=True)
class JudgedTrace:
    """The reply that decided, and the number of its call."""

    call: int
    text: str


def trace_of(run: Run, match: int, step: int, player: int) -> JudgedTrace | None:
    """Return the reply that became the answer: the last one to the decision itself, with its forced ending."""
    call, text = None, ""
    for number, part, reply, reasoning in run.journal.replies_to(match, step, player):
        if re.fullmatch(r"try\d+(\.after\d+)?", part):  # "after": after calls of tools
            call, text = number, "\n\n".join(filter(None, [reasoning, reply]))
        elif re.fullmatch(r"try\d+\.end", part):
            text = f"{text.rstrip()}\n{reply}"
    return None if call is None else JudgedTrace(call, text.strip())


def collect(run: Run, earlier: Sequence[Mapping[str, Any]], shortest: int = SHORTEST) -> list[dict[str, Any]]:
    """Return the corpus: first the decisions of an earlier list in its order, then new ones with reasoning."""
    places = {(row["match"], row["step"], row["player"]) for row in earlier}
    fresh = []
    for row in run.rows.decisions():
        played = row["state"] == "done" and row["kind"] == "act" and row["model"] is not None and not row["invalid"]
        if not played or row.get("copied") or (row["match"], row["step"], row["player"]) in places:
            continue
        trace = trace_of(run, row["match"], row["step"], row["player"] - 1)
        if trace is not None and len(trace.text) >= shortest:
            fresh.append({**{k: v for k, v in row.items() if k not in DROPPED}, "call": trace.call})
    fresh.sort(key=lambda row: key_of(f"judge:{row['match']}:{row['step']}:{row['player']}"))
    return [*map(dict, earlier), *fresh]


def read_corpus(folder: Path) -> list[dict[str, Any]]:
    """Read the decisions that a judged corpus lists; empty if the corpus has no file yet."""
    path = folder / CORPUS
    try:
        return [orjson.loads(line) for line in read_plain(path, MOST_CORPUS).splitlines() if line.strip()]
    except FileNotFoundError:
        return []
    except (OSError, orjson.JSONDecodeError) as error:
        raise RunError(f"{path}: cannot be read: {error}") from None


def write_corpus(folder: Path, corpus: Sequence[Mapping[str, Any]]) -> None:
    """Write the list of decisions to be judged, atomically."""
    path = folder / CORPUS
    try:
        write_atomically(path, b"".join(orjson.dumps(row) + b"\n" for row in corpus))
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror})") from None
