"""What an executor is: it plays units of work, and the runner owns the plan, the journal and the endings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ostrom.agents.factory import AgentFactory
from ostrom.engine.entries import Journaled, Place
from ostrom.engine.journal import Journal
from ostrom.engine.match import Answers, Calls, LiveMatch, Replies
from ostrom.engine.plan import Plan, Tally, Unit
from ostrom.ground.errors import OstromError


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
