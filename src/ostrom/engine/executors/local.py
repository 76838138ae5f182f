"""The executor interface, and the two executors of this process: local and batch.

An executor plays units of work; the runner owns the plan, the journal and the endings. With the batch executor, calls
go in batches to the services of the models. The messages between the driver of a run and executors on other machines
stand here, too: plain data, never an API key.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Literal

from ostrom.agents.base import OutsideSeats
from ostrom.agents.language import AgentFactory, Invalidity
from ostrom.agents.policy import SkipMatch
from ostrom.answers import Answer
from ostrom.engine.batching.ledger import Ledger
from ostrom.engine.batching.scheduler import BatchCaller, BatchGate, BatchScheduler
from ostrom.engine.batching.service import BatchService, check
from ostrom.engine.caller import Cache, Caller, SeatCalls
from ostrom.engine.entries import CallRecord, Journaled, Place
from ostrom.engine.gate import Gate, RunGate, Stopped
from ostrom.engine.journal import Journal
from ostrom.engine.match import Answers, Calls, LiveMatch, ReplayDiffers, Replies
from ostrom.engine.plan import Plan, Tally, Unit
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.unit_rows import keeps_rows
from ostrom.framing import Library
from ostrom.ground import errors
from ostrom.ground.errors import OstromError, RunError, UsageError
from ostrom.models.base import Model
from ostrom.models.batches import BatchEndpoint, HasBatches, may_batch
from ostrom.models.pending_call import NO_SIZE, CallSize

AnswerEntry = tuple[int, int, int, str, Answer, int, str | None]
"""Unit, step, player, part, answer, number of complaints before it, and question."""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """The settings that a worker needs to play units of a run."""

    version: str
    prompts: Mapping[str, str]
    """Hashes of the plan's prompt files: a worker with different files is refused."""
    files: Mapping[str, Mapping[str, bytes]]
    """The user's prompt folder (under the empty name) and prompt sets, file by file."""
    models: Mapping[str, Mapping[str, Any]]
    """The models and their settings; API keys are in the worker's environment."""
    grants: Sequence[tuple[str, tuple[str, str, int | None]]]
    """Which API keys the user allowed to be sent where."""
    open_models: Callable[[str, Mapping[str, Any]], Model] | None
    invalidity: Invalidity
    options: PlayOptions
    """Options for calls and their counting."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A model opened on a worker."""

    connections: int
    ceiling: int | None
    """The most concurrent calls of the client, if it runs inside the worker; None otherwise."""
    description: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as class name and text, because exceptions with other arguments cannot be serialized."""

    kind: str
    text: str

    @classmethod
    def from_error(cls, error: OstromError) -> Failure:
        """The class name and the text of an error."""
        return cls(type(error).__name__, str(error))

    def error(self) -> OstromError:
        """Rebuild the error, of the same class and with the same text.

        >>> Failure.from_error(errors.StudyError("is wrong", file="s.yaml")).error()
        StudyError('s.yaml: is wrong')
        """
        others = {kind.__name__: kind for kind in (SkipMatch, Stopped, ReplayDiffers)}
        kind = (vars(errors) | others).get(self.kind, OstromError)
        made: OstromError = kind.__new__(kind)
        Exception.__init__(made, self.text)
        return made


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended: the outcome method of the gate and its arguments."""

    model: str
    how: Literal["succeeded", "failed", "refused", "abandoned"]
    what: tuple[Any, ...] = ()
    size: CallSize = NO_SIZE
    more: Mapping[str, Any] = field(default_factory=dict)

    def apply_to(self, gate: Gate) -> None:
        """Report the outcome to a gate and release the slot."""
        getattr(gate, self.how)(self.model, *self.what, size=self.size, **self.more)
        gate.release(self.model)


def prompt_files(library: Library) -> dict[str, dict[str, bytes]]:
    """Return the user's own prompt files by prompt set; those for all agents are under the empty name."""
    return ({} if library.folder is None else {"": library.own_files}) | {
        name: chosen.own_files for name, chosen in library.sets.items()
    }


def count_entry(tally: Tally, entry: AnswerEntry | CallRecord) -> None:
    """Count a journaled entry in a tally, so that a run's totals agree with its journal after workers are lost."""
    if not isinstance(entry, CallRecord):
        _, _, _, part, answer, complaints, _ = entry
        tally.decisions += not part
        tally.invalid += complaints
        tally.policies += answer.reading in ("policy", "refused")
    elif entry.source == "cache":
        tally.cached += 1
    else:
        tally.calls += 1
        tally.trouble = entry.error
        if entry.reply is None:
            tally.retries += 1
            return
        tally.refused += entry.reply.finish == "filter"
        tally.count_reply(entry.reply.usage, entry.usd)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A unit to be played."""

    unit: Unit
    facts: Sequence[Mapping[str, Any]] | None = None
    """The outcomes of its preparations by seat, if it needs any."""
    resume: bool = False
    """Whether an earlier attempt left entries in the journal."""
    again: bool = False
    """Whether unreadable replies are requested again; accepted answers are kept."""

    def known(self, journal: Journal) -> tuple[dict[Place, Journaled], Replies]:
        """Return the answers and replies of an earlier attempt."""
        replies = journal.replies(self.unit.index) if self.resume and not self.again else {}
        return journal.answers(self.unit.index) if self.resume else {}, replies


@dataclass(frozen=True, slots=True)
class UnitEnd:
    """The end of a unit: its outcome, or the error that prevented it."""

    steps: int = 0
    scores: Sequence[float] | None = None
    facts: Mapping[str, Any] | None = None
    error: OstromError | None = None
    rows: bytes | None = None
    """The encoded rows of a unit with an outcome."""


@dataclass(frozen=True, slots=True)
class Session:
    """The objects that a run passes to its executor at the start."""

    plan: Plan
    journal: Journal
    tally: Tally

    @property
    def cached_since(self) -> float:
        """Return the earliest arrival time of a cached reply that may be used."""
        registered = self.plan.registered
        return 0.0 if registered is None else datetime.fromisoformat(registered["created"]).timestamp()


async def play_unit(
    agent_factory: AgentFactory,
    journal: Answers,
    calls: Calls,
    tally: Tally,
    unit: Unit,
    facts: Sequence[Mapping[str, Any]] | None,
    journaled: dict[Place, Journaled],
    replies: Replies,
) -> UnitEnd:
    """Play a unit with the outcomes of its preparations and the entries of an earlier attempt; return how it ended."""
    match: LiveMatch | None = None
    try:
        mechanism = unit.mechanism if facts is None else unit.mechanism.with_preparations(facts)
        agents = agent_factory([seated.config for seated in unit.players], unit.streams)
        match = LiveMatch(
            unit, mechanism.play(unit.game, unit.streams), agents, journal, calls, tally, journaled, replies,
            lambda config: agent_factory.agent(config, unit.streams),
        )  # fmt: skip
        outcome = await match.run()
    except OstromError as error:
        return UnitEnd(match.step if match else 0, error=error)
    rows = match.record.rows(outcome.rounds).to_bytes() if keeps_rows(unit, len(match.record)) else None
    return UnitEnd(match.step, outcome.scores, dict(outcome.facts) or None, rows=rows)


def most_calls(connections: int, ceiling: int | None, wanted: int | None) -> int:
    """Return the most calls in flight to one model; a client with a lower limit is not asked for more.

    >>> most_calls(64, None, None), most_calls(64, None, 8), most_calls(2, 2, 8)
    (256, 8, 2)
    """
    most = wanted if wanted is not None else max(connections, 256)
    return min(most, ceiling) if ceiling is not None else most


def matches_at_once(calls: int, in_process: bool, seats: int) -> int:
    """Return how many matches keep ``calls`` in flight, even if each waits for its slowest seat or the disk.

    More matches would all be unfinished when the run is stopped. A model in this process caches the prompt prefixes of
    few conversations: more matches would evict each other's prefixes and be slower.

    >>> matches_at_once(64, False, 2), matches_at_once(4, True, 2), matches_at_once(0, False, 2)
    (128, 2, 1)
    """
    return max(1, calls // seats) if in_process or not calls else max(8, min(2 * calls, 4096))


OWN_FILES = 48
"""Files that a run needs besides connections: journal, logs, prompts, imported packages."""
WANTED_FILES = 4096


class LocalExecutor:
    """Plays units with the models that were opened in this process.

    An executor is opened before anything is written, so that a wrong model leaves no run.
    """

    caller_type: type[Caller] = Caller
    factory_type: type[AgentFactory] = AgentFactory

    def __init__(self, models: Mapping[str, Model], library: Library, options: PlayOptions) -> None:
        self.models, self.library, self.options = models, library, options
        self.described: Mapping[str, Mapping[str, Any]] = {
            name: dict(model.describe()) for name, model in models.items()
        }
        self._stopping = asyncio.Event()
        self._halt: Callable[[], None] = self._stopping.set
        self._cache: Cache | None = None
        self._outside: OutsideSeats | None = None

    async def open(self) -> None:
        """Open the cache; the models are already open."""
        self._left = connections_left() if self.models else 0
        if self.options.cache is not None:
            self._cache = Cache(self.options.cache)

    async def start(self, session: Session) -> None:
        """Build the gate, the caller and the agent factory."""
        plan = session.plan
        if self._cache is not None:
            self._cache.since = session.cached_since
        self._journal = session.journal
        self._gate = gate = self._make_gate(session)
        self._halt = gate.stop
        caller = self._make_caller(session, gate)
        ceilings = [getattr(model, "most_connections", None) for model in self.models.values()]
        for model, ceiling in zip(self.models.values(), ceilings, strict=True):
            most = min(
                most_calls(model.connections, ceiling, self.options.max_connections), self._left // len(self.models)
            )
            gate.open(model.name, self.options.start_connections or model.connections, max(1, most))
            caller.open(model)
        self._outside = plan.outside
        agents = self.factory_type(
            self.models, self.library, Invalidity(plan.retries, plan.policy, plan.refused), plan.arrivals, plan.trees,
            plan.outside,
        )  # fmt: skip
        calls = caller if plan.outside is None else SeatCalls(caller, plan.outside, session.journal)
        self._play = partial(play_unit, agents, session.journal, calls, session.tally)
        self._seats = max(1, plan.unit(0).game.seats) if len(plan) else 1
        self._in_process = all(ceiling is not None for ceiling in ceilings)

    def _make_gate(self, session: Session) -> RunGate:
        return RunGate(session.tally, session.plan.budget, self._stopping, self.options.rates)

    def _make_caller(self, session: Session, gate: RunGate) -> Caller:
        # People do not wait in a match until a server is back.
        retry = self.options.retry if session.plan.arrivals is None else replace(self.options.retry, outage=0.0)
        return self.caller_type(
            session.journal, session.tally, gate, self._stopping, retry, self._cache, self.options.rates
        )

    def capacity(self) -> int:
        """The number of matches to play at once: enough to use all open slots, within the limit of outside seats."""
        gate = self._gate
        count = matches_at_once(gate.most if self._in_process else gate.places, self._in_process, self._seats)
        most = None if self._outside is None else self._outside.at_once
        return count if most is None else min(count, most) if self.models else most

    async def play(self, assignment: Assignment) -> UnitEnd:
        """Play one unit, and report its end to external agents."""
        unit = assignment.unit
        ended = await self._play(unit, assignment.facts, *assignment.known(self._journal))
        if self._outside is not None:
            self._outside.ended(unit.index, ended.scores)
        return ended

    async def models_to_abort(self) -> set[str]:
        """Return the models with persistent failures."""
        return self._gate.models_to_abort(self.options.retry.tries)

    def give_up(self, model: str, why: str) -> None:
        """Close the gate to a model."""
        self._gate.give_up(model, why)

    def stop(self) -> None:
        """Start no more calls."""
        self._halt()
        if self._outside is not None:
            self._outside.stop()

    async def close(self) -> None:
        """Close the cache. The models are closed by the code that opened them."""
        if self._cache is not None:
            self._cache.close()


def connections_left() -> int:
    """Return how many connections may be open, after raising the soft limit of open files where allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return WANTED_FILES
    most = WANTED_FILES if hard == resource.RLIM_INFINITY else min(WANTED_FILES, hard)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    if soft <= OWN_FILES:
        raise RunError(
            f"only {soft} files may be open at a time, and a run with models needs more than {OWN_FILES}: "
            "raise the limit (ulimit -n 1024) and run again"
        )
    return soft - OWN_FILES


MATCHES = 20_000
"""The most matches in play: each holds its prompts in memory until its wave is answered."""


def batch_endpoint(model: Model) -> BatchEndpoint:
    """Return the batch endpoint of a model; raise an error if its provider has none."""
    if not isinstance(model, HasBatches) or not may_batch(model.name):
        raise UsageError(f"--batch: {model.name} has no batch endpoint (OpenAI's, Anthropic's or a compatible one)")
    return model.batches()


def _wait(tally: Tally, seconds: float) -> None:
    """Show in the progress line how long a service asks to wait."""
    tally.wait_until = max(tally.wait_until, time.monotonic() + seconds)


class BatchExecutor(LocalExecutor):
    """Plays units with models that answer in batches."""

    def __init__(self, models: Mapping[str, Model], library: Library, options: PlayOptions) -> None:
        self._endpoints, self._started = {model.name: batch_endpoint(model) for model in models.values()}, False
        super().__init__(models, library, options)

    async def open(self) -> None:
        """Check that every service has a batch endpoint."""
        await super().open()
        for endpoint in self._endpoints.values():
            await check(endpoint, self.options.retry)

    async def start(self, session: Session) -> None:
        """Build the scheduler of batches, and resume the batches of earlier sessions."""
        session.journal.keep_batches()
        await super().start(session)
        await self._scheduler.start()

    def _make_gate(self, session: Session) -> RunGate:
        ledger, options = Ledger(session.journal), self.options
        services = {
            name: BatchService(endpoint, ledger, options.retry, options.polling)
            for name, endpoint in self._endpoints.items()
        }
        for service in services.values():
            service.on_retry_after = partial(_wait, session.tally)
        gate = BatchGate(session.tally, session.plan.budget, self._stopping, options.rates)
        self._scheduler, self._started = BatchScheduler(services, ledger, session.tally, gate.spending), True
        return gate

    def _make_caller(self, session: Session, gate: RunGate) -> Caller:
        return BatchCaller(
            self._scheduler, session.journal, session.tally, gate, self._stopping, self.options.retry, self._cache,
            self.options.rates,
        )  # fmt: skip

    def capacity(self) -> int:
        """The number of matches to play at once: ``max_connections``, by default ``MATCHES``."""
        return self.options.max_connections or MATCHES

    async def play(self, assignment: Assignment) -> UnitEnd:
        """Play one unit, which the scheduler counts among those it waits for."""
        self._scheduler.enter()
        try:
            return await super().play(assignment)
        finally:
            self._scheduler.leave()

    def stop(self) -> None:
        """Send no more batches; those under way stay at their services and are collected on resume."""
        super().stop()
        if self._started:
            self._scheduler.stop()

    async def close(self) -> None:
        """Stop waiting for batches, and close the endpoints and the cache."""
        if self._started:
            await self._scheduler.close()
        for endpoint in self._endpoints.values():
            await endpoint.close()
        await super().close()
