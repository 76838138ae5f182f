"""Forks: runs that start from a point of a match of another run.

What a fork takes from its parent is copied into its own journal and marked, and its manifest says where it
comes from, so that it can be read without the parent.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import Field

from ostrom.agents.config import AgentConfig
from ostrom.engine.entries import Journaled, Place
from ostrom.engine.folder import Folder
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Budget, Plan, Unit
from ostrom.games.game import Game
from ostrom.ground.errors import UsageError
from ostrom.ground.validation import Declared
from ostrom.mechanisms import Mechanism
from ostrom.mechanisms.protocol import Decision
from ostrom.studies.factors import Factor, clients_of
from ostrom.studies.plan import StudyPlan
from ostrom.studies.prompts import refuse_other_prompts
from ostrom.studies.run import Run

Answers = Mapping[Place, Journaled]


class Origin(Declared):
    """The origin of a fork, as its manifest states it."""

    kind: str
    run: str = Field(description="the parent run")
    match: int
    round: int = Field(description="the first round that is not the parent's")
    step: int
    given: tuple[dict[str, Any], ...] | None = Field(
        default=None, description="what the players had prepared before the match"
    )
    of: dict[str, Any] | None = Field(default=None, description="where the parent itself comes from")


@dataclass(frozen=True)
class ForkPoint:
    """A match of a run, replayed."""

    unit: Unit
    answers: Answers
    steps: Sequence[Sequence[Decision]]
    rounds: int
    given: tuple[dict[str, Any], ...] | None

    def step_of(self, number: int) -> int | None:
        """The first step with a decision of this round or a later one; None if there is no such step."""
        return next((step for step, due in enumerate(self.steps) if any(d.view.round >= number for d in due)), None)

    def before(self, step: int) -> dict[Place, Journaled]:
        """The answers of all steps before this one."""
        return {place: answer for place, answer in self.answers.items() if place[0] < step}


def point_of(run: Run, match: int) -> ForkPoint:
    """Replay a finished match of a run; a unit that is not a finished match is refused."""
    unit = run.plan.unit(match)
    ended = run.journal.outcome_of(match)
    if unit.kind != "match":
        raise UsageError(f"{run.name}: unit {match} is no match but a {unit.kind}")
    if ended is None or ended[0] != "done":
        how = "is not finished" if ended is None else f"{ended[0]}: {ended[1]}"
        raise UsageError(f"{run.name}: match {match} {how}; only finished matches can be forked")
    refuse_other_prompts(run.manifest["prompts"], run.plan.prompts, run.name, "it cannot be gone on with")
    prepared = map(run.journal.outcome_of, unit.needs)
    outcomes = tuple(entry[3] for entry in prepared if entry is not None) if unit.needs else None
    steps, outcome, answers = run.rows.replayed(unit)
    assert outcome is not None, "a finished match has an outcome"
    return ForkPoint(unit, answers, steps, len({r.number for r in outcome.played}), outcomes)


def rules_of(unit: Unit, outcomes: Sequence[Mapping[str, Any]] | None) -> Mechanism:
    """The mechanism of a unit, with the preparations of its players."""
    return unit.mechanism if outcomes is None else unit.mechanism.with_preparations(outcomes)


class ForkPlan(StudyPlan):
    """A plan that wraps another one: its units are made from one unit of that plan."""

    base: StudyPlan
    origin: Origin
    stop = None
    command: ClassVar[str]
    """The command that starts and continues such a fork."""

    def __init__(self, base: StudyPlan, origin: Origin, budget: Budget | None = None) -> None:
        self.__dict__.update(base.__dict__)  # the study, its grid and built parts are shared
        self.base, self.shard = base, None
        self.parent = base.unit(origin.match)
        self.budget = budget or Budget()
        self._count_of_units = self.preparations = 0
        self.__dict__.pop("prompts", None)  # a fork's agents may have other prompts

    @classmethod
    def resume_hint(cls, manifest: Mapping[str, Any]) -> str | None:
        """Return a line that names the command to continue the fork."""
        run = manifest["parent"].get("run")
        return f"is a fork of {run}; `{cls.command} {run}` with its options goes on with it"

    def use_old_names(self, journal: Journal) -> None:
        """Do nothing: the wrapped plan has the action names of its own run."""

    @property
    def forked_from(self) -> dict[str, Any]:
        """The origin of the fork, as plain data."""
        return self.origin.model_dump(mode="json")

    @property
    def games(self) -> tuple[Game, ...]:
        """The game of the match that it is a fork of."""
        return (self.parent.game,)

    def question_units(self) -> Iterator[tuple[Unit, Iterable[AgentConfig]]]:
        """Yield the questions of the parent match, to the players of the fork."""
        yield self.parent, [seated.config for seated in (*self.unit(len(self) - 1).players, *self.parent.players)]

    def _ready(self, count: int, *factors: Factor) -> None:
        """Set the number of units and their varying factors; call it last in ``__init__``."""
        self._count_of_units = count
        self.factors = (*self.base.factors, *factors)
        clients = clients_of(seated.config for seated in self.unit(count - 1).players)
        self._settings, self.models = clients, tuple(clients)

    def __len__(self) -> int:
        return self._count_of_units

    def units(self) -> Iterator[Unit]:
        """All units in the order of their numbers."""
        return Plan.units(self)

    def _within(self, index: int) -> int:
        if not 0 <= index < len(self):
            raise UsageError(f"match {index}: there are {len(self)} matches, numbered from 0")
        return index


async def copy_answers(folder: Folder, copies: Mapping[int, Answers], finished: Iterable[int] = ()) -> None:
    """Start a journal with copied answers of another one, marked as copies. It is idempotent."""
    with folder.open_journal(create=True) as journal:
        journal.start()
        states = journal.states()
        for unit, answers in copies.items():
            there = journal.answers(unit)
            for (step, player, part), (answer, _, question) in answers.items():
                if (step, player, part) not in there:
                    copy = replace(answer, facts={**(answer.facts or {}), "copied": True})
                    # 0 unreadable replies: those before this answer are counted in the parent.
                    journal.answer(unit, step, player, part, copy, 0, question)
        for unit in finished:
            if unit not in states:
                journal.finish(unit, "done", None, len({step for step, _, _ in copies[unit]}))
        await journal.flush()
