"""Memory attribution: how much each remembered round moved one decision.

The decision is asked again as it was, and again with single remembered rounds left out or flipped. Each of
these is a unit of a run of its own that is forked from the journal of the parent, so calls are journaled,
limited, paid for and resumed as in every other run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import orjson
from pydantic import Field

from ostrom.agents.config import AgentConfig
from ostrom.agents.dialogue import turn_of
from ostrom.answers import Form, Number
from ostrom.engine.entries import Journaled, Place
from ostrom.engine.plan import Budget, PlanSource, Seated, Unit
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Result
from ostrom.framing.history_renderer import short_name
from ostrom.games.game import Game
from ostrom.ground.errors import UsageError
from ostrom.ground.registry import write_spec
from ostrom.ground.streams import Streams
from ostrom.ground.validation import validate
from ostrom.mechanisms.fork import Moment
from ostrom.mechanisms.protocol import Decision, Round, View
from ostrom.mechanisms.rounds import otherwise
from ostrom.memory import Note, memories
from ostrom.memory.catalog.edited import no_flip
from ostrom.models import open_model
from ostrom.models.base import Model
from ostrom.studies.checks import check_memory
from ostrom.studies.factors import Factor, Level
from ostrom.studies.fork import Answers, ForkPlan, ForkPoint, Origin, copy_answers, point_of, rules_of
from ostrom.studies.plan import StudyPlan, read_base
from ostrom.studies.run import Run, Watch, play_plan

Measure = Literal["odds", "logprob", "sample"]
"""How a chance is measured: exact odds of a script, log-probabilities of the options, or repeated sampling."""


class AttributionOf(Origin):
    """The decision that is studied, and the method."""

    kind: Literal["attribution"] = "attribution"
    seat: int
    method: Literal["drop", "flip", "both"] = "both"
    measure: Measure
    samples: int = 1
    taken: str | None = Field(default=None, description="what the player did in the match")
    last: int | None = Field(default=None, description="only the so many most recent remembered rounds")


class AttributionPlan(ForkPlan):
    """Unit 0 is the copied match; then each sample asks the decision unchanged and with each edit."""

    kind: ClassVar[str] = "attribution"
    command: ClassVar[str] = "ostrom more attribute"
    origin: AttributionOf

    @classmethod
    def read(cls, source: PlanSource) -> Self:
        """Read the plan of an attribution from its manifest and the answers that it copied."""
        origin = validate(AttributionOf, dict(source.manifest["parent"]), source.file, "parent")
        return cls(read_base(source), origin, source.journal.answers(0))

    def __init__(self, base: StudyPlan, origin: AttributionOf, answers: Answers, budget: Budget | None = None) -> None:
        super().__init__(base, origin, budget)
        self.origin = origin
        unit = self.parent
        # The copied match has all columns of its counterfactuals, because a table takes its columns from the first row.
        cell = {**unit.cell, "counterfactual": None, "sample": None}
        self._copied = replace(
            unit, index=0, cell=cell, mechanism=rules_of(unit, origin.given), needs=(), kind="copied"
        )
        self.decision = self._find(answers)
        self._earlier = [
            (player, answer)
            for (step, player, _), (answer, *_) in sorted(answers.items(), key=_place)
            if step < origin.step and player == self.decision.player and turn_of(answer) is not None
        ]
        self.seated = unit.players[self.decision.player]
        self.rounds = remembered_rounds(self.seated.config, self.decision, unit.streams, answers)
        if not self.rounds:
            raise UsageError(
                f"match {origin.match}, round {origin.round}: player {origin.seat} is shown no single rounds "
                f"of the past (its memory is {write_spec(self.seated.config.memory)})"
            )
        self.edits = [None, *edits(self.decision.view, self.rounds, origin.method, origin.last)]
        if len(self.edits) == 1:
            raise UsageError(
                f"--method {origin.method}: no remembered round of game {unit.game.name} can be flipped, since "
                "nobody can say what would have followed; use --method drop"
            )
        self._players = [self._edited(edit) for edit in self.edits]
        self._ready(
            1 + origin.samples * len(self.edits),
            Factor("counterfactual", tuple(Level(label_of(edit), {}) for edit in self.edits)),
            Factor("sample", tuple(Level(k, {}) for k in range(1, origin.samples + 1))),
        )

    def _find(self, answers: Answers) -> Decision:
        """Replay the parent's answers up to the studied decision and return it."""
        unit = self._copied
        play = unit.mechanism.play(unit.game, unit.streams)
        due = next(play)
        for step in range(self.origin.step):
            due = play.send([answers[step, d.player, ""][0] for d in due])
        return next(d for d in due if d.player == self.origin.seat - 1)

    def _edited(self, edit: Edit | None) -> Seated:
        config = self.seated.config
        data = config.model_dump(mode="json", exclude_unset=True)
        if self.origin.measure == "logprob":
            data |= {"style": "logprob", "answer": "choice"}
        if edit is not None:
            data["memory"] = edit.applied(config.memory)
        changed = self._agent(orjson.dumps(data).decode())
        check_memory(changed, self.parent.game, self.file)
        return Seated(self.seated.name, changed)

    def unit(self, index: int) -> Unit:
        """Return the copied match (index 0) or one repetition of the studied decision."""
        if self._within(index) == 0:
            return self._copied
        sample, which = divmod(index - 1, len(self.edits))
        parent, player = self.parent, self.decision.player
        players = list(parent.players)
        players[player] = self._players[which]
        return replace(
            parent,
            index=index,
            # Within a sample all edits use the same random stream; the first sample uses that of the match itself.
            key=parent.key if sample == 0 else f"{parent.key}#sample{sample}",
            cell={**parent.cell, "counterfactual": label_of(self.edits[which]), "sample": sample + 1},
            mechanism=Moment(parent.mechanism.name, self.decision, self._earlier),
            players=tuple(players),
            needs=(),
            kind="counterfactual",
            first=self.origin.step,
            origin=parent.streams,
            since=self.origin.round,
            earlier=(),
        )


def _place(item: tuple[Place, Journaled]) -> tuple[int, bool, int]:
    """Return the sort key of an answer: a decision comes after the questions asked within it."""
    (step, _, part), (answer, *_) = item
    turn = turn_of(answer)
    return step, not part, -1 if turn is None else turn.nth


def label_of(edit: Edit | None) -> str:
    """Return the label of an edit in tables; None means the unchanged past."""
    return AS_IT_WAS if edit is None else edit.label


def attribute(
    run: Run,
    match: int,
    number: int,
    *,
    seat: int = 1,
    stage: str | None = None,
    method: Literal["drop", "flip", "both"] = "both",
    measure: Measure | None = None,
    samples: int = 20,
    last: int | None = None,
    name: str | None = None,
    runs: str | Path = "runs",
    budget: Budget | None = None,
    options: PlayOptions | None = None,
    watch: Watch | None = None,
    open_models: Callable[[str, Mapping[str, Any]], Model] | None = None,
) -> tuple[Result, Path]:
    """Ask a decision again with single remembered rounds changed, as a new run or a resumed one."""
    point = point_of(run, match)
    step, form = _step(run, point, match, number, seat, stage)
    opening = open_models or (lambda name, settings: open_model(name, **settings))
    measure = check_measure(point.unit.players[seat - 1], measure, opening, form)
    chosen = point.answers[step, seat - 1, ""][0].value
    origin = AttributionOf(
        run=run.name, match=match, round=number, step=step, given=point.given, of=run.manifest.get("parent"),
        seat=seat, method=method, measure=measure, samples=samples if measure == "sample" else 1, last=last,
        taken=str(chosen) if isinstance(chosen, str | int | float) else None,
    )  # fmt: skip
    prefix = {place: answer for place, answer in point.answers.items() if place[0] < step}
    # A note written for this decision is part of what the player knew.
    notes = {
        place: answer
        for place, answer in point.answers.items()
        if place[0] <= step and place[1] == seat - 1 and place[2]
    }
    plan = AttributionPlan(run.plan, origin, {**prefix, **notes}, budget)
    label = name or _name(run, origin, stage)
    copies: dict[int, Answers] = dict.fromkeys(range(1, len(plan)), notes) if notes else {}
    return play_plan(
        plan,
        name=label,
        runs=runs,
        options=options,
        watch=watch,
        open_models=opening,
        begin=lambda folder: copy_answers(folder, {0: {**prefix, **notes}, **copies}, [0]),
    ), Path(runs) / label


def _step(run: Run, point: ForkPoint, match: int, number: int, seat: int, stage: str | None) -> tuple[int, Form]:
    """The step at which the player first chose its action in that round, or at that stage of it."""
    where = f"match {match} of {run.name}"
    if not 1 <= seat <= len(point.unit.players):
        raise UsageError(f"--seat {seat}: {where} has players 1 to {len(point.unit.players)}")
    stages = set()
    for step, decisions in enumerate(point.steps):
        for d in decisions:
            if d.view.round == number and d.kind == "act" and d.player == seat - 1:
                stages.add(d.view.facts.get("stage"))
                if stage is None or d.view.facts.get("stage") == stage:
                    return step, d.form
    if named := ", ".join(sorted(name for name in stages if name is not None)):
        raise UsageError(f"--stage {stage}: player {seat} decides at other stages of round {number} ({named})")
    if stages:
        raise UsageError(f"--stage {stage}: the rounds of game {point.unit.game.name} have no stages")
    if 1 <= number <= point.rounds:
        raise UsageError(f"--seat {seat}: player {seat} of {where} has nothing to decide in round {number}")
    raise UsageError(f"--round {number}: {where} has rounds 1 to {point.rounds}")


def check_measure(
    seated: Seated, measure: Measure | None, opening: Callable[[str, Mapping[str, Any]], Model], form: Form
) -> Measure:
    """Return how the chance of an answer is measured: as requested, or the most exact way that the agent supports.

    A script states its odds. The next token's log-probabilities are the odds of an agent that answers at
    once; what an agent does after reasoning can only be sampled.
    """
    config = seated.config
    if config.person:
        raise UsageError(f"{seated.name} is a person; a person's decision cannot be asked again")
    if config.mcp is not None:
        raise UsageError(f"{seated.name} is an agent at a seat (mcp); its decision cannot be asked again")
    if config.strategy is not None:
        if measure not in (None, "odds"):
            raise UsageError(f"--measure {measure}: {seated.name} is a strategy and states its odds")
        return "odds"
    assert config.model is not None
    if measure == "sample":
        return "sample"
    if measure == "odds":
        raise UsageError(f"--measure odds: {seated.name} is a model; use logprob or sample")
    if isinstance(form, Number):
        if measure == "logprob":
            raise UsageError("--measure logprob: the decision is about an amount, which has no list of options")
        return "sample"
    able = opening(config.model, config.settings).abilities.logprobs
    if measure == "logprob" and not able:
        raise UsageError(f"--measure logprob: {config.model} does not report log-probabilities")
    fits = config.style in ("direct", "logprob") and config.answer == "choice"
    return "logprob" if able and (measure == "logprob" or fits) else "sample"


def _name(run: Run, origin: AttributionOf, stage: str | None) -> str:
    how = [origin.method, origin.measure, origin.last]
    digest = hashlib.blake2b(orjson.dumps(how if stage is None else [*how, stage]), digest_size=3).hexdigest()
    return f"attribution-{run.name}-m{origin.match}-r{origin.round}-p{origin.seat}-{digest}"


AS_IT_WAS = "as it was"


@dataclass(frozen=True, slots=True)
class Edit:
    """One change to one remembered round; ``back`` 1 is the last round shown."""

    back: int
    round: int
    """The number under which the player sees the round."""
    edit: str
    seat: int | None
    row: str
    """The kind of change: left out, own flipped, P2 flipped."""

    @property
    def label(self) -> str:
        """Return the change as a label such as ``R3 left out``."""
        return f"R{self.round} {self.row}"

    def applied(self, memory: str | Mapping[str, Any]) -> dict[str, Any]:
        """Return the memory settings with this change applied."""
        spec: dict[str, Any] = {"name": "edited", "of": memory, "back": self.back, "edit": self.edit}
        return spec if self.seat is None else {**spec, "seat": self.seat}


def remembered_rounds(
    config: AgentConfig, decision: Decision, streams: Streams, answers: Mapping[Place, Any]
) -> Sequence[Round]:
    """Return the rounds that the player was shown for this decision."""
    memory = memories.build(config.memory)
    notes = [
        Note.from_answer(answer)
        for (_, player, part), (answer, *_) in sorted(answers.items(), key=itemgetter(0))
        if player == decision.player and part == memory.asks and memory.takes_notes
    ]
    memory_view = memory.show(
        decision.view, lambda number, purpose: streams.for_round(number, decision.player, f"memory:{purpose}"), notes
    )
    return memory_view.rounds


def _can_flip(game: Game, played: Round, seat: int) -> bool:
    return no_flip(game, seat) is None if game.has_table else otherwise(game, played, seat) is not None


def edits(view: View, rounds: Sequence[Round], method: str, last: int | None = None) -> Iterator[Edit]:
    """Yield every edit that the method makes to the remembered rounds (only the ``last`` ones, if set), oldest first.

    A round is not flipped for a seat where the other action, or what would have followed from it, is unknown.
    """
    for place in range(0 if last is None else max(0, len(rounds) - last), len(rounds)):
        back, number = len(rounds) - place, rounds[place].number
        if method in ("drop", "both"):
            yield Edit(back, number, "drop", None, "left out")
        if method in ("flip", "both"):
            for seat in sorted(range(view.game.seats), key=lambda s: (s != view.seat, s)):
                if not _can_flip(view.game, rounds[place], seat):
                    continue
                who = "own" if seat == view.seat else short_name(view, seat)
                yield Edit(back, number, "flip", seat + 1, f"{who} flipped")
