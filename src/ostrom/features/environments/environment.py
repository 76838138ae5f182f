"""A study as an environment: any of its matches is played as an episode, with the engine of `ostrom run`.

In an episode the caller's code answers the questions to the ``outside/NAME`` players. Questions come out in the order
in which they arise, and each is answered with a text. Two questions may be open at the same time: players who move
together are asked together. ``for`` takes them one by one, ``async for`` as they come.

The engine runs on a thread of its own, so that an environment serves blocking and asynchronous code alike. Prompts,
readers, retries, policies and random streams are those of the study; only calls to ``outside/NAME`` go to the episode.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, cast

from ostrom.agents.base import DecisionContext
from ostrom.agents.language import AgentFactory, LanguageAgent
from ostrom.agents.policy import SkipMatch
from ostrom.answers import Answer, Invalid, constraint_of
from ostrom.api import Study
from ostrom.api import study as state
from ostrom.engine.caller import Caller, prompt_of
from ostrom.engine.entries import CallRecord
from ostrom.engine.executors.local import Assignment, LocalExecutor, Session, UnitEnd
from ostrom.engine.folder import Folder, check_name
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Tally, Unit
from ostrom.engine.runner import count_spent
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


@dataclass(frozen=True, eq=False)
class OutsideQuestion:
    """A question to one player, with the same messages that a model would get."""

    match: int
    player: int
    """The number of the player in the match, from 1, as in the tables."""
    agent: str
    """The name of the player's type, as in the tables."""
    policy: str
    """The NAME in ``outside/NAME``."""
    step: int
    part: str
    """The try and the sub-question within the decision: ``try0``, ``note.try1``, ..."""
    messages: list[dict[str, str]]
    form: Mapping[str, Any]
    """The form of a valid answer: ``choices``, or a JSON ``schema``; empty for free text.

    An answer may give reasons before the required form.
    """
    params: Mapping[str, Any]
    """The sampling parameters of the study."""
    reply: Future[Reply] = field(default_factory=Future, repr=False)

    @property
    def answered(self) -> bool:
        """Whether the question needs no answer any more: it has one, or its episode was closed."""
        return self.reply.done()

    def answer(self, reply: str | Reply) -> None:
        """Set the answer: a text, or a ``Reply`` with more facts such as ``finish="length"`` for a truncated text."""
        if not isinstance(reply, str | Reply):
            raise UsageError(f"an answer is a text or a Reply, not {type(reply).__name__}")
        if self.reply.done():
            why = "its episode was closed" if self.reply.cancelled() else "was answered"
            raise UsageError(f"match {self.match}, player {self.player}: this question: {why}")
        try:
            (reply if isinstance(reply, str) else reply.text).encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"match {self.match}, player {self.player}: an answer is Unicode text ({error})") from None
        self.reply.set_result(Reply(reply) if isinstance(reply, str) else reply)


class Episode:
    """One match with outside players, iterated question by question; the match is over when the iteration ends."""

    state: str | None = None
    """The final state of the match: done, skipped or failed; None while it is played and after it was closed."""
    reason: str | None = None
    """Why the match was skipped or failed."""
    scores: Mapping[int, float] | None = None
    """The score of every player, by its number from 1, once the match is done."""

    def __init__(self, unit: Unit, close: Callable[[Episode], None]) -> None:
        self.match, self.seed, self.cell = unit.index, unit.seed, dict(unit.cell)
        self.players = outside_players(unit)
        """The NAME in ``outside/NAME`` of each outside player, by player number."""
        self._close, self._lock = close, threading.Lock()
        self._ready: deque[OutsideQuestion] = deque()
        self._waiting: deque[Future[OutsideQuestion | None]] = deque()
        self._over, self._left, self._error = False, False, None
        self._last: OutsideQuestion | None = None

    _error: Exception | None

    @property
    def rewards(self) -> dict[int, float]:
        """Return the scores of the outside players by player number; observers have none."""
        return {player: score for player, score in (self.scores or {}).items() if player in self.players}

    def close(self) -> None:
        """Stop playing the match; a match stored in a run can be resumed."""
        self._left = True
        self._close(self)

    @property
    def open(self) -> bool:
        """Whether the match is still being played."""
        return not (self._left or self._over)

    def __iter__(self) -> Episode:
        return self

    def __next__(self) -> OutsideQuestion:
        if self._last is not None and not self._last.answered:
            raise UsageError(f"match {self.match}, player {self._last.player}: answer the question before the next")
        self._last = self._next().result()
        if self._last is None:
            raise StopIteration
        return self._last

    def __aiter__(self) -> Episode:
        return self

    async def __anext__(self) -> OutsideQuestion:
        question = await asyncio.wrap_future(self._next())
        if question is None:
            raise StopAsyncIteration
        return question

    def _next(self) -> Future[OutsideQuestion | None]:
        future: Future[OutsideQuestion | None] = Future()
        with self._lock:
            self._waiting.append(future)
            self._hand_out()
        return future

    def _hand_out(self) -> None:
        """Give every waiting caller a question, the error or the end of the episode. The lock must be held."""
        while self._waiting and (self._ready or self._over):
            future = self._waiting.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            if self._ready:
                future.set_result(self._ready.popleft())
            elif self._error is not None:
                future.set_exception(self._error)
            else:
                future.set_result(None)

    # -- methods that the environment calls on its own thread --------------------------------------------

    async def ask(self, question: OutsideQuestion) -> Reply:
        """Hand a question to the caller of the episode and wait for its answer."""
        with self._lock:
            self._ready.append(question)
            self._hand_out()
        return await asyncio.wrap_future(question.reply)

    def end(self, error: Exception | None = None) -> None:
        """End the questions; with an ``error``, callers that wait for a question get it."""
        with self._lock:
            if not self._over:
                self._over, self._error = True, error
                self._ready.clear()
                self._hand_out()


def outside_players(unit: Unit) -> dict[int, str]:
    """Return the NAME of each ``outside/NAME`` player of a unit, by player number."""
    models = ((number, seated.config.model or "") for number, seated in enumerate(unit.players, 1))
    return {number: model.removeprefix(PREFIX) for number, model in models if model.startswith(PREFIX)}


class EpisodeClosed(OstromError):
    """The episode or its environment was closed."""


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


def environment(
    study: Study | str | Path | Mapping[str, Any],
    *,
    name: str | None = None,
    runs: str | Path = "runs",
    allow_command: Sequence[str] | None = None,
    **options: Any,
) -> Environment:
    """A study whose players ``outside/NAME`` are answered by the caller, match by match.

    ``options`` are those of ``ostrom.study``; with ``name`` the matches are kept as a run. Close it, or use ``with``.

    >>> duel = {"name": "duel", "game": "prisoners_dilemma", "types": {"me": {"model": "outside/me"}, "it": "grim"}}
    >>> with environment({**duel, "seating": "seats"}) as env:
    ...     episode = env.episode(0)
    ...     for question in episode:
    ...         question.answer(question.form["choices"][0])
    ...     episode.rewards
    {1: 3.0}
    """
    if isinstance(study, Study) and options:
        raise UsageError(f"{next(iter(options))}: give this to ostrom.study(), which made the study")
    stated = study if isinstance(study, Study) else state(study, **options)
    if allow_command is not None:
        stated = replace(stated, options=replace(stated.options, allow_command=allow_command))
    return Environment(stated, name=name, runs=runs)


def outside_matches(plan: StudyPlan) -> tuple[int, ...]:
    """Return the numbers of the matches that have an ``outside/NAME`` player."""
    return tuple(
        unit.index for unit in map(plan.unit, range(len(plan))) if unit.kind == "match" and outside_players(unit)
    )


def _refuse_unsuited(plan: StudyPlan, *, recorded: bool) -> None:
    for unsuited, why in (
        (plan.study.people is not None, "people: a study with people is served (`ostrom serve`)"),
        (
            any(config.mcp is not None for config in plan.agents),
            "mcp: a study with agents at seats is played by `ostrom run` or `ostrom seat`",
        ),
        (recorded and plan.stop is not None, "stop: a study that stops by itself is played by `ostrom run`"),
        (
            not any(name.startswith(PREFIX) for name in plan.models),
            f"nobody answers from outside: give models=['{PREFIX}NAME'], or a type that model "
            f"(found {', '.join(plan.models) or 'no model'})",
        ),
    ):
        if unsuited:
            raise UsageError(f"{plan.file}: {why}")


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
