"""What an executor is, and the local one: all matches in this process, on one event loop.

An executor plays units of work; the runner owns the plan, the journal and the endings.
"""

import asyncio
import resource
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ostrom.agents.factory import AgentFactory
from ostrom.agents.language import Invalidity
from ostrom.engine.caller import Cache, Caller
from ostrom.engine.entries import Journaled, Place
from ostrom.engine.gate import RunGate
from ostrom.engine.journal import Journal
from ostrom.engine.match import Answers, Calls, LiveMatch, Replies
from ostrom.engine.plan import Plan, Tally, Unit
from ostrom.engine.play_options import PlayOptions
from ostrom.framing import Library
from ostrom.ground.errors import OstromError, RunError
from ostrom.models.base import Model


@dataclass(frozen=True, slots=True)
class Assignment:
    """A unit to be played."""

    unit: Unit
    facts: Sequence[Mapping[str, Any]] | None = None
    """What its preparations came to, by seat, where it needs any."""
    resume: bool = False
    """An earlier attempt left something in the journal."""
    again: bool = False
    """Answers that were accepted stand, but what was not accepted is asked for anew."""

    def known(self, journal: Journal) -> tuple[dict[Place, Journaled], Replies]:
        """The answers and replies that an earlier attempt left."""
        if not self.resume:
            return {}, {}
        index = self.unit.index
        return journal.answers(index), {} if self.again else journal.replies(index)


@dataclass(frozen=True, slots=True)
class UnitEnd:
    """How the playing of a unit ended: an outcome, or what came in between."""

    steps: int = 0
    scores: Sequence[float] | None = None
    facts: Mapping[str, Any] | None = None
    error: OstromError | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """What a run hands to its executor when playing begins."""

    plan: Plan
    journal: Journal
    tally: Tally


class Executor(Protocol):
    """Plays units. Opened before anything is written, so that a wrong model leaves no trace."""

    described: Mapping[str, Mapping[str, Any]]
    """What the models say about themselves, for the manifest; known once it is open."""

    async def open(self) -> None:
        """Make models ready."""

    async def start(self, session: Session) -> None:
        """Begin a session."""

    def capacity(self) -> int:
        """How many units should be in play at present; follows the limits of the models."""

    async def play(self, assignment: Assignment) -> UnitEnd:
        """Play one unit; every error that a user may see comes back in the ending."""

    async def models_to_abort(self) -> set[str]:
        """The models to which further calls would be wasted."""

    def give_up(self, model: str, why: str) -> None:
        """Make no more calls to a model."""

    def stop(self) -> None:
        """Start no more calls; calls in flight are awaited and journaled."""

    async def close(self) -> None:
        """Close everything that was opened."""


class UnitPlayer:
    """Plays whole units with the models of one process: seats the agents of each and says how it ended."""

    def __init__(self, agent_factory: AgentFactory, journal: Answers, calls: Calls, tally: Tally) -> None:
        self.agent_factory, self.journal, self.calls, self.tally = agent_factory, journal, calls, tally

    async def play(
        self,
        unit: Unit,
        facts: Sequence[Mapping[str, Any]] | None,
        known: dict[Place, Journaled],
        replies: Replies,
    ) -> UnitEnd:
        """Play a unit, given what its preparations came to and what an earlier attempt left."""
        match: LiveMatch | None = None
        try:
            mechanism = unit.mechanism if facts is None else unit.mechanism.given(facts)
            agents = self.agent_factory([seated.config for seated in unit.players], unit.streams)
            play = mechanism.play(unit.game, unit.streams)
            match = LiveMatch(
                unit, play, agents, self.journal, self.calls, self.tally, known, replies,
                lambda config: self.agent_factory.agent(config, unit.streams),
            )  # fmt: skip
            outcome = await match.run()
        except OstromError as error:
            return UnitEnd(match.step if match else 0, error=error)
        return UnitEnd(match.step, outcome.scores, dict(outcome.facts) or None)


def most_calls(connections: int, ceiling: int | None, wanted: int | None) -> int:
    """The most calls in flight to one model; a client that serves few at a time is not asked for more.

    >>> most_calls(64, None, None), most_calls(64, None, 8), most_calls(2, 2, 8)
    (256, 8, 2)
    """
    most = wanted if wanted is not None else max(connections, 256)
    return min(most, ceiling) if ceiling is not None else most


def matches_at_once(calls: int, in_process: bool, seats: int) -> int:
    """As many matches as keep so many calls in flight, even when each waits for its slowest seat or the disk.

    More matches would all be unfinished when the run is stopped. A model in this process caches the prompt prefixes of
    few conversations: more matches would evict each other's prefixes and be slower.

    >>> matches_at_once(64, False, 2), matches_at_once(4, True, 2), matches_at_once(0, False, 2)
    (128, 2, 1)
    """
    if not calls:
        return 1
    return max(1, calls // seats) if in_process else max(8, min(2 * calls, 4096))


OWN_FILES = 48
"""Files that a run needs besides connections: journal, logs, prompts, packages that are imported on the way."""
WANTED_FILES = 4096


class LocalExecutor:
    """Plays units with the models that were opened in this process."""

    def __init__(self, models: Mapping[str, Model], library: Library, options: PlayOptions) -> None:
        self.models, self.library, self.options = models, library, options
        self.described: Mapping[str, Mapping[str, Any]] = {
            name: dict(model.describe()) for name, model in models.items()
        }
        self._stopping = asyncio.Event()
        self._halt: Callable[[], None] = self._stopping.set
        self._cache: Cache | None = None

    async def open(self) -> None:
        """Open the cache; the models are open."""
        self._left = connections_left() if self.models else 0
        if self.options.cache is not None:
            self._cache = Cache(self.options.cache)

    async def start(self, session: Session) -> None:
        """Set up the gate, the caller and the agents' company."""
        plan = session.plan
        self._journal = session.journal
        self._gate = gate = self._make_gate(session)
        self._halt = gate.stop
        caller = self._make_caller(session, gate)
        ceilings = [getattr(model, "most_connections", None) for model in self.models.values()]
        for model, ceiling in zip(self.models.values(), ceilings, strict=True):
            most = most_calls(model.connections, ceiling, self.options.max_connections)
            most = max(1, min(most, self._left // len(self.models)))
            self._open_gate(gate, model, most)
            caller.open(model)
        rule = Invalidity(plan.retries, plan.policy, plan.refused)
        agent_factory = AgentFactory(self.models, self.library, rule, plan.arrivals, plan.trees)
        self._player = UnitPlayer(agent_factory, session.journal, caller, session.tally)
        self._seats = max(1, plan.unit(0).game.seats) if len(plan) else 1
        self._in_process = all(ceiling is not None for ceiling in ceilings)

    def _make_gate(self, session: Session) -> RunGate:
        return RunGate(session.tally, session.plan.budget, self._stopping, self.options.rates)

    def _open_gate(self, gate: RunGate, model: Model, most: int) -> None:
        gate.open(model.name, self.options.start_connections or model.connections, most)

    def _make_caller(self, session: Session, gate: RunGate) -> Caller:
        return Caller(
            session.journal,
            session.tally,
            gate,
            self._stopping,
            self.options.retry,
            self._cache,
            self.options.rates,
        )

    def capacity(self) -> int:
        """As many matches as keep all places taken that there are by now."""
        gate = self._gate
        return matches_at_once(gate.most if self._in_process else gate.places, self._in_process, self._seats)

    async def play(self, assignment: Assignment) -> UnitEnd:
        """Play one unit."""
        known, replies = assignment.known(self._journal)
        return await self._player.play(assignment.unit, assignment.facts, known, replies)

    async def models_to_abort(self) -> set[str]:
        """The models that fail steadily."""
        return self._gate.models_to_abort(self.options.retry.tries)

    def give_up(self, model: str, why: str) -> None:
        """Close the gate to a model."""
        self._gate.give_up(model, why)

    def stop(self) -> None:
        """Begin no more calls."""
        self._halt()

    async def close(self) -> None:
        """Close the cache. The models are closed by the code that opened them."""
        if self._cache is not None:
            self._cache.close()


def connections_left() -> int:
    """Connections that may be open at a time; the soft limit is raised first, as far as the system allows."""
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
