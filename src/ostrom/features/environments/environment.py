"""A study as an environment: any of its matches is played as an episode, with the engine of `ostrom run`.

The engine runs on a thread of its own, so that an environment serves blocking and asynchronous code alike. Prompts,
readers, retries, policies and random streams are those of the study; only calls to ``outside/NAME`` go to the episode.
"""

import asyncio
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress
from contextvars import ContextVar, copy_context
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, cast

from ostrom.agents.base import DecisionContext
from ostrom.agents.language import AgentFactory, LanguageAgent
from ostrom.agents.policy import SkipMatch
from ostrom.answers import Answer, Invalid, constraint_of
from ostrom.api import Study
from ostrom.engine.caller import Caller, prompt_of
from ostrom.engine.entries import CallRecord
from ostrom.engine.executors.local import Assignment, LocalExecutor, Session, UnitEnd
from ostrom.engine.folder import Folder, check_name
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Tally, Unit
from ostrom.engine.runner import count_spent
from ostrom.features.environments.episode import Episode, EpisodeClosed, OutsideQuestion, outside_players
from ostrom.framing import Prompt
from ostrom.ground import loop
from ostrom.ground.errors import InvalidAnswers, ModelError, ModelGivenUp, OstromError, UsageError
from ostrom.mechanisms.protocol import Decision
from ostrom.models import open_model
from ostrom.models.base import Message, Model, Reply, Request
from ostrom.models.providers.outside import PREFIX, OutsideModel
from ostrom.studies.extensions import plan_class
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import check_commands, prepare_folder

_EPISODE: ContextVar[Episode] = ContextVar("episode")
_FORM: ContextVar[Mapping[str, Any]] = ContextVar("form")


class Environment:
    """A study whose ``outside/NAME`` players are answered by the caller, episode by episode.

    With a ``name`` the matches are kept as the run ``runs/NAME``, each once. Without one nothing is kept, and any match
    can be played any number of times, also at the same time. Units that a match needs, such as designs of contracts or
    earlier generations, are played at the beginning of its episode.
    """

    def __init__(self, study: Study, *, name: str | None = None, runs: str | Path = "runs") -> None:
        self.study, self.plan = study, study.plan
        self.path = None if name is None else Path(runs) / check_name(name)
        """The run folder in which matches are stored; None if nothing is stored."""
        _refuse_unsuited(self.plan, recorded=name is not None)
        self._runs = Path(runs)
        self._lock, self._closed = threading.Lock(), False
        self._tasks: dict[Episode, asyncio.Task[None]] = {}
        self._playing: dict[int, asyncio.Lock] = {}
        self._episodes: dict[int, Episode] = {}
        """The latest episode of every match that was started."""
        self._ended: set[int] = set()
        begun: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(begun,), name="ostrom", daemon=True)
        self._thread.start()
        begun.result()

    @cached_property
    def matches(self) -> tuple[int, ...]:
        """Return the numbers of the matches that ask an outside player: one for each seed, cell and seating."""
        return outside_matches(self.plan)

    def episode(self, match: int) -> Episode:
        """Start a match; iterate over the episode to get its questions."""
        unit = self.plan.unit(match)
        if match in self._ended:
            raise UsageError(f"{self.path}: match {match} was played (another name begins another run)")
        if self.path is not None and (other := self._episodes.get(match)) is not None and other.open:
            raise UsageError(f"{self.path}: match {match} is being played (a run keeps it once)")
        episode = self._episodes[match] = Episode(unit, self._abandon)
        self._submit(self._begin, episode, unit)
        return episode

    def episodes(self) -> Iterator[Episode]:
        """Yield an episode for every match, also for matches without an outside player.

        For an environment stored as a run: an episode for every missing unit, preparations included; playing all of
        them completes the run.
        """
        wanted = (
            unit for unit in map(self.plan.unit, range(len(self.plan))) if unit.kind == "match" or self.path is not None
        )
        return (self.episode(unit.index) for unit in wanted if unit.index not in self._ended)

    def close(self) -> None:
        """End all episodes and close the run; a caller that waits for a question gets ``EpisodeClosed``."""
        with self._lock:
            if not self._closed and self._thread.is_alive():
                self._loop.call_soon_threadsafe(self._stop.set)
            self._closed = True
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _submit(self, function: Any, *values: Any) -> None:
        with self._lock:
            if self._closed or not self._thread.is_alive():
                raise EpisodeClosed(f"{self.plan.file}: the environment is closed")
            self._loop.call_soon_threadsafe(function, *values, context=self._context)

    def _abandon(self, episode: Episode) -> None:
        def cancel() -> None:
            if (task := self._tasks.get(episode)) is not None:
                task.cancel()

        with suppress(EpisodeClosed):
            self._submit(cancel)

    # -- on the thread of the engine -----------------------------------------------------------------

    def _run(self, begun: Future[None]) -> None:
        try:
            loop.run(self._serve(begun))
        except BaseException as error:  # an error during startup is raised in the constructor
            if begun.done():
                raise
            begun.set_exception(error)

    async def _serve(self, begun: Future[None]) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with AsyncExitStack() as stack:
            await self._open(stack)
            begun.set_result(None)
            await self._stop.wait()
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _open(self, stack: AsyncExitStack) -> None:
        plan, options = self.plan, self.study.options
        check_commands(plan, options)
        self._context = copy_context()  # other threads start episodes and need the same permissions
        if any(config.tree is not None for config in plan.agents):
            plan_class("tree").load_answers_for(plan, self._runs)
        models: dict[str, Model] = {}
        for name in plan.models:
            models[name] = OutsideModel(name) if name.startswith(PREFIX) else open_model(name, **plan.settings(name))
            stack.push_async_callback(models[name].close)
        self._executor = OutsideExecutor(models, plan.library, options)
        await self._executor.open()
        stack.push_async_callback(self._executor.close)
        tally = Tally(matches=plan.planned, preparations=plan.preparations)
        self._journal: Journal | NoJournal = NoJournal()
        if self.path is not None:
            folder = Folder(self.path)
            folder.lock()
            stack.callback(folder.unlock)
            manifest = prepare_folder(folder, plan)
            self._journal = journal = stack.enter_context(folder.open_journal(create=True))
            plan.use_old_names(journal)
            count_spent(tally, journal, plan, options)
            self._ended |= {unit for unit, state in journal.states().items() if state != "failed"}
            journal.start()
            if manifest is not None:
                folder.write_manifest(manifest)
            folder.describe_models(self._executor.described)
            stack.callback(folder.record_served, journal)
        await self._executor.start(Session(plan, cast("Journal", self._journal), tally))

    def _begin(self, episode: Episode, unit: Unit) -> None:
        self._tasks[episode] = task = asyncio.create_task(self._play(episode, unit))
        task.add_done_callback(lambda _: self._tasks.pop(episode, None))

    async def _play(self, episode: Episode, unit: Unit) -> None:
        _EPISODE.set(episode)
        try:
            ended = await self._unit(unit)
        except asyncio.CancelledError:
            episode.end(EpisodeClosed(f"match {unit.index}: the episode was closed"))
            raise
        except Exception as error:
            episode.end(error)
            return
        episode.state = _state(ended.error)
        if ended.error is not None:
            episode.reason = str(ended.error)
        if ended.scores is not None:
            episode.scores = {player: float(score) for player, score in enumerate(ended.scores, 1)}
        episode.end(ended.error if episode.state is None else None)

    async def _unit(self, unit: Unit) -> UnitEnd:
        """Play a unit after the units that it depends on; a unit stored in the run is not played again."""
        journal = self._journal
        if isinstance(journal, NoJournal):
            return await self._played(unit, Assignment(unit))
        async with self._playing.setdefault(unit.index, asyncio.Lock()):
            await journal.flush()
            ended = journal.outcome_of(unit.index)
            if ended is not None and ended[0] == "done":
                return UnitEnd(scores=ended[2], facts=ended[3])
            done = await self._played(
                unit, Assignment(unit, resume=journal.has_begun(unit.index), again=ended is not None)
            )
            if (state := _state(done.error)) is not None:
                journal.finish(
                    unit.index,
                    state,
                    None if done.error is None else str(done.error),
                    done.steps,
                    done.scores,
                    done.facts,
                    done.rows,
                )
                await journal.flush()
                if state != "failed":
                    self._ended.add(unit.index)
            return done

    async def _played(self, unit: Unit, assignment: Assignment) -> UnitEnd:
        facts: list[Mapping[str, Any]] = []
        for index in unit.needs:
            needed = await self._unit(self.plan.unit(index))
            if needed.error is not None:
                return UnitEnd(error=needed.error)
            facts.append(needed.facts or {})
        return await self._executor.play(replace(assignment, facts=facts or None))


def outside_matches(plan: StudyPlan) -> tuple[int, ...]:
    """Return the numbers of the matches that have an ``outside/NAME`` player."""
    return tuple(
        unit.index for unit in map(plan.unit, range(len(plan))) if unit.kind == "match" and outside_players(unit)
    )


def _refuse_unsuited(plan: StudyPlan, *, recorded: bool) -> None:
    if plan.study.people is not None:
        raise UsageError(f"{plan.file}: people: a study with people is served (`ostrom serve`)")
    if any(config.mcp is not None for config in plan.agents):
        raise UsageError(f"{plan.file}: mcp: a study with agents at seats is played by `ostrom run` or `ostrom seat`")
    if recorded and plan.stop is not None:
        raise UsageError(f"{plan.file}: stop: a study that stops by itself is played by `ostrom run`")
    if not any(name.startswith(PREFIX) for name in plan.models):
        raise UsageError(
            f"{plan.file}: nobody answers from outside: give models=['{PREFIX}NAME'], or a type that model "
            f"(found {', '.join(plan.models) or 'no model'})"
        )


def _state(error: OstromError | None) -> Any:
    """Return the state of a unit after an error; None for an error that concerns more than this unit."""
    if error is None:
        return "done"
    if isinstance(error, SkipMatch):
        return "skipped"
    return "failed" if isinstance(error, InvalidAnswers | ModelError | ModelGivenUp) else None


class NoJournal:
    """A stand-in for the journal that stores nothing."""

    def answer(self, *_: Any) -> None:
        """Drop an answer."""

    def call(self, record: CallRecord) -> None:
        """Drop a call."""

    async def flush(self) -> None:
        """Do nothing: no record is pending."""


class OutsideAgent(LanguageAgent):
    """A language agent that also passes the required form of its answer on to the episode's question."""

    async def _once(
        self,
        messages: list[Message],
        prompt: Prompt,
        decision: Decision,
        context: DecisionContext,
        think: bool,
        part: str,
        lasting: int,
    ) -> tuple[str, Answer | Invalid]:
        _FORM.set(constraint_of(decision.form, prompt.labels))
        return await super()._once(messages, prompt, decision, context, think, part, lasting)


class OutsideAgents(AgentFactory):
    """Builds language agents as ``OutsideAgent``."""

    language_type = OutsideAgent


class OutsideCaller(Caller):
    """Makes model calls; a call to ``outside/NAME`` becomes a question of the current episode."""

    async def call(self, unit: Unit, step: int, player: int, part: str, model: Model, request: Request) -> Reply:
        """Make one call and journal it; a call to an outside model waits for the answer to the episode's question."""
        if not isinstance(model, OutsideModel):
            return await super().call(unit, step, player, part, model, request)
        question = OutsideQuestion(
            unit.index, player + 1, unit.players[player].name, model.name.removeprefix(PREFIX), step, part,
            [{"role": m.role, "content": m.content} for m in request.messages], _FORM.get({}), request.params,
        )  # fmt: skip
        at, clock = time.time(), time.monotonic()
        reply = await _EPISODE.get().ask(question)
        self.journal.call(
            CallRecord(
                unit.index, step, player, part, model.name, self.key(unit, step, player, part, model, request),
                prompt_of(request), request.params, 1, self.source, at, time.monotonic() - clock, reply,
            )
        )  # fmt: skip
        return reply


class OutsideExecutor(LocalExecutor):
    """Plays units in this process with ``OutsideAgents`` and ``OutsideCaller``."""

    caller_type, factory_type = OutsideCaller, OutsideAgents
