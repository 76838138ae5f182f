"""Derived runs: questions about existing material, each a journaled unit of work.

A judgement of a reply, a score, a story for a payoff table, a tree of answers: each kind is a plan of its own and lies
in a folder of its own. Limits, retries, budget, journal and exact resume are those of every run, and what failed
in an earlier session is asked for again.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from ostrom.costs.forecast import Forecast, PerCall, add_up, assumptions, may_batch_all
from ostrom.costs.lengths import CHARACTERS_PER_TOKEN, reply_of
from ostrom.costs.waves import AT_ONCE, HOURS, MOST_HOURS, Waves
from ostrom.engine.folder import Folder
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Budget, Plan, Seated, Unit
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Result
from ostrom.framing import Library, PromptRenderer
from ostrom.framing.fingerprint import hashes
from ostrom.games.game import Game
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism
from ostrom.mechanisms.protocol import Decision, Outcome, Play
from ostrom.memory import MemoryView
from ostrom.models.base import Model
from ostrom.studies.run import Watch, check_same, play_plan


class TaskPrompts(Library):
    """A prompt library that shows the task alone: the rules of the game are in the material."""

    def fill(self, path: str, values: Mapping[str, Any]) -> str:
        """Fill a template; the fixed part (``setup.txt``) is the task alone."""
        return str(values["rules"]) if path == "setup.txt" else super().fill(path, values)


class SingleQuestion(Mechanism):
    """A mechanism with one question to one player, whose answer is the outcome."""

    def play(self, game: Game, streams: Streams) -> Play:  # noqa: ARG002
        """Ask; there is nothing to score."""
        answers = yield [self.question(game)]
        return Outcome([], (), dict(answers[0].value))

    @abstractmethod
    def question(self, game: Game) -> Decision:
        """The one question."""

    def most_decisions(self, game: Game) -> int:  # noqa: ARG002
        """One."""
        return 1


class DerivedPlan(Plan):
    """The base plan of questions about existing material: judging, scoring, authoring and trees."""

    command: ClassVar[str]
    """The command that starts and continues such a run."""
    files: ClassVar[tuple[str, ...]] = ()
    """The prompt files in use."""

    def __init__(
        self,
        name: str,
        home: str | Path,
        models: tuple[str, ...],
        library: Library,
        *,
        retries: int = 3,
        policy: str = "fail",
        refused: str | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.name = self.file = name
        self.folder = Folder(Path(home) / name)
        self.models, self.library = models, library
        self.retries, self.policy, self.refused = retries, policy, refused or policy
        self.budget = budget or Budget()

    @classmethod
    def resume_hint(cls, manifest: Mapping[str, Any]) -> str | None:  # noqa: ARG003
        """Return why `ostrom resume` cannot continue such a run, and the command that can."""
        return f"is no run of a study; `{cls.command}` goes on with it"

    @abstractmethod
    def description(self) -> dict[str, Any]:
        """Return who is asked what, as plain data."""

    def resolved(self) -> dict[str, Any]:
        """Return the plan as plain data; the order of keys is part of the journal's identity."""
        return {
            "kind": self.kind,
            "name": self.name,
            **self.description(),
            "invalid": {"retries": self.retries, "policy": self.policy},
            "budget": {"calls": self.budget.calls, "tokens": self.budget.tokens, "usd": self.budget.usd},
        }

    def settings(self, model: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return no settings: models are opened by name."""
        return {}

    @cached_property
    def prompts(self) -> dict[str, str]:
        """The prompt files that are shown, with a hash of each."""
        return hashes(self.library, self.files)

    def check(self) -> None:
        """Refuse a plan without questions."""

    async def begin(self, folder: Folder) -> None:
        """Write the files beside the journal."""

    def play(
        self,
        *,
        options: PlayOptions | None = None,
        watch: Watch | None = None,
        open_models: Callable[[str, Mapping[str, Any]], Model] | None = None,
    ) -> Result:
        """Ask the questions, or continue asking."""
        self.check()
        path = self.folder.path
        return play_plan(
            self,
            name=path.name,
            runs=path.parent,
            options=options,
            watch=watch,
            open_models=open_models,
            begin=self.begin,
        )

    @contextmanager
    def journal(self) -> Iterator[Journal | None]:
        """Open the journal of earlier sessions, None before the first; refused if it has other questions."""
        manifest = check_same(self.folder, self) if self.folder.exists else None
        begun = manifest is not None and self.folder.journal.exists()
        with self.folder.open_journal(manifest) if begun else nullcontext() as journal:
            yield journal

    def forecast(self, prices: Mapping[str, Any] | None = None, limit: int | None = None) -> Forecast:
        """Return the bound of the remaining questions, at most ``limit`` units; each prompt is measured."""
        self.check()
        with self.journal() as journal:
            states = {} if journal is None else journal.states()
        left = [index for index in range(len(self)) if states.get(index) not in ("done", "skipped")][:limit]
        bound = add_up(
            Forecast(matches=len(left), retries_per_decision=self.retries), map(self.unit, left), self._per_call, prices
        )
        bound.likely_decisions, bound.assumes = bound.decisions, assumptions()
        count = -(-len(left) // AT_ONCE)
        return bound.with_waves(Waves(count, count * HOURS, count * MOST_HOURS) if may_batch_all(self.models) else None)

    def _per_call(self, unit: Unit, seated: Seated, player: int) -> PerCall:  # noqa: ARG002
        assert isinstance(unit.mechanism, SingleQuestion), "other plans bound their calls themselves"
        config, question = seated.config, unit.mechanism.question(unit.game)
        renderer = PromptRenderer(config.framing, self.library, config.style)
        text = renderer.prompt(question, MemoryView(), None, config.facts).text
        return PerCall(len(text) / CHARACTERS_PER_TOKEN, *reply_of(config, question.form))
