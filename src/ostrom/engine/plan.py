"""What the engine plays: a plan is a lazy list of units of work that can be asked for by index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ostrom.agents.base import PersonAgentFactory
from ostrom.agents.config import AgentConfig
from ostrom.games.game import Game
from ostrom.ground.errors import OstromError
from ostrom.ground.streams import Streams, key_of
from ostrom.mechanisms.base import Mechanism

if TYPE_CHECKING:
    from ostrom.engine.journal import Journal


@dataclass(frozen=True, slots=True)
class Seated:
    """A player of a unit: the name of its type and how it decides."""

    name: str
    config: AgentConfig
    observes: bool = False
    """Asked questions about the match but has no seat in it."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One piece of work: a match, or a preparation that later matches need."""

    index: int
    key: str
    """What the unit is, apart from its seed; randomness depends on this and the seed, never on the index."""
    seed: int
    cell: Mapping[str, Any]
    game: Game
    mechanism: Mechanism
    players: tuple[Seated, ...]
    needs: tuple[int, ...] = ()
    kind: str = "match"
    seat: int = 0
    """The seat of the first player: a preparation is made for one seat."""

    first: int = 0
    """The number of its first step; a fork may begin in the midst of a match."""
    origin: Streams | None = None
    """The streams of the match that it is a fork of."""
    since: int = 0
    """The first round that is a fork's own."""

    @property
    def streams(self) -> Streams:
        """The random streams of this unit."""
        return Streams(self.seed, key_of(self.key), self.origin, self.since)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend in all, over every resume; None: no bound."""

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None


class Plan(Protocol):
    """A resolved study, as the engine sees it."""

    name: str
    retries: int
    policy: str
    refused: str
    """What happens when a model declines to answer."""
    budget: Budget
    models: tuple[str, ...]

    @property
    def prompts(self) -> Mapping[str, str]:
        """The prompt files that the plan uses, with a hash of each."""
        ...

    def resolved(self) -> dict[str, Any]:
        """The study as resolved: plain data, complete, no secrets."""
        ...

    def __len__(self) -> int: ...

    def units(self) -> Iterator[Unit]:
        """All units in the order in which they should start."""
        ...

    def unit(self, index: int) -> Unit:
        """One unit by its index."""
        ...

    def settings(self, model: str) -> Mapping[str, Any]:
        """Client settings of a model."""
        ...


class Arrivals(PersonAgentFactory, Protocol):
    """Units that arise during a run when participants arrive; a plan may have them as ``arrivals``."""

    async def begin(self, journal: Journal) -> None:
        """The journal is open: take up what is under way."""
        ...

    async def next(self) -> Unit | None:
        """The next unit to be played, as soon as there is one; None: there will be no more."""
        ...

    async def ended(self, unit: Unit, error: OstromError | None) -> None:
        """A unit has ended, or cannot continue."""
        ...


@dataclass(frozen=True, slots=True)
class Counted:
    """How many units of one kind are planned and how they ended."""

    planned: int
    done: int
    skipped: int
    failed: int


@dataclass(slots=True)
class Tally:
    """The numbers a run shows while it goes on. The first four count all units, preparations included."""

    matches: int = 0
    done: int = 0
    skipped: int = 0
    failed: int = 0
    resumed: int = 0
    decisions: int = 0
    calls: int = 0
    in_flight: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    """Tokens of prompts that servers had in their caches."""
    usd: float = 0.0
    unpriced: int = 0
    """Calls whose price is not known; never counted as free."""
    invalid: int = 0
    retries: int = 0
    policies: int = 0
    refused: int = 0
    """Calls that a content filter or the model itself declined."""
    trouble: str | None = None
    """What went wrong with the last call, until one succeeds."""
    wait_until: float = 0.0
    """Until when (monotonic clock) a server asked to be left alone."""
    cached: int = 0
    batches: int = 0
    """Batches that are waited for."""
    batches_left: int = 0
    """Batches that a stopped session leaves to their services."""
    lost_workers: int = 0
    """Workers of a cluster that died; what they had under way was handed to others."""
    failures: list[str] = field(default_factory=list)
    preparations: int = 0
    """How many of the units are preparations, such as designs, and no matches."""
    prepared: Counter[str] = field(default_factory=Counter)
    """How preparations ended: done, skipped, failed."""

    def of_preparations(self) -> Counted:
        """The preparations alone."""
        return Counted(self.preparations, *(self.prepared[state] for state in ("done", "skipped", "failed")))

    def of_matches(self) -> Counted:
        """The matches alone."""
        other = self.of_preparations()
        return Counted(
            self.matches - other.planned,
            self.done - other.done,
            self.skipped - other.skipped,
            self.failed - other.failed,
        )
