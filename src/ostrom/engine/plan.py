"""What the engine plays: a plan is a lazy list of units of work that can be asked for by index."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from ostrom.agents.base import OutsideSeats, PersonAgentFactory
from ostrom.agents.config import AgentConfig
from ostrom.agents.tree import Trees
from ostrom.engine.entries import Journaled, Place
from ostrom.engine.journal import Journal
from ostrom.engine.shards import Shard
from ostrom.framing import Library
from ostrom.games.game import Game
from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.streams import Streams, key_of
from ostrom.ground.words import how_many
from ostrom.mechanisms.base import Mechanism
from ostrom.mechanisms.protocol import Decision, Outcome
from ostrom.models.base import Usage

FEW_UNITS = 24
"""A plan that does not list its games is asked for those of so many units."""


@dataclass(frozen=True, slots=True)
class Seated:
    """A player of a unit: its name in tables and how it decides."""

    name: str
    config: AgentConfig
    observes: bool = False
    """Asked questions about the match but has no seat in it."""
    type: str | None = None
    """The type that it is of, where its seat changes how it plays and so gives it a name of its own."""

    @property
    def key(self) -> str:
        """What identifies it: names of units, and so their chance, depend on the type alone."""
        return self.type or self.name


class EarlierPlayers(NamedTuple):
    """Who decided in a match before the step, and the round that it begins, at which a fork of it goes on."""

    step: int
    round: int
    players: tuple[Seated, ...]


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
    earlier: tuple[EarlierPlayers, ...] = ()
    """Who played what a fork copied, oldest first."""

    @property
    def seated(self) -> tuple[Seated, ...]:
        """All who have decided in it: its players, then those of each match that it was copied from."""
        return (*self.players, *(seated for past in self.earlier for seated in past.players))

    def before(self, step: int, number: int) -> tuple[EarlierPlayers, ...]:
        """Who decided before a step, with which a round of this number begins, for a fork of this unit there."""
        past = (*self.earlier, EarlierPlayers(step, number, self.players))
        return tuple(EarlierPlayers(min(one.step, step), min(one.round, number), one.players) for one in past)

    def decides(self, player: int, step: int | None = None, number: int = 0) -> int:
        """The place in ``seated`` of who decides for a player at a step (or, without one, in a round)."""
        for place, past in enumerate(self.earlier, 1):
            if number < past.round if step is None else step < past.step:
                return place * len(self.players) + player
        return player

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

    def for_shard(self, shard: Shard) -> Budget:
        """What one shard may spend: an equal part; all parts together are never more than the whole.

        >>> Budget(calls=10, usd=2.0).for_shard(Shard(1, 4))
        Budget(calls=3, tokens=None, usd=0.5)
        """
        calls, tokens = (None if total is None else shard.portion_of(total) for total in (self.calls, self.tokens))
        return Budget(calls, tokens, None if self.usd is None else self.usd / shard.of)


class VariedLevel(Protocol):
    """One level of a factor, as tables see it."""

    @property
    def label(self) -> str | int | float | bool | None:
        """The value in the factor's column."""

    @property
    def traits(self) -> Mapping[str, Any]:
        """The values in the columns that follow from the level."""


class Varied(Protocol):
    """A factor, as tables see it: a column with its levels, and the columns that follow from them."""

    @property
    def name(self) -> str:
        """The name of the factor's column."""

    @property
    def levels(self) -> Sequence[VariedLevel]:
        """The levels of the factor, in order."""

    @property
    def traits(self) -> Sequence[str]:
        """The names of the columns that follow from the levels."""


class ReplayedRows(Protocol):
    """The rows of a run, as far as the columns about people need them."""

    journal: Journal
    run: str

    def played(self) -> Iterator[tuple[Unit, str, str | None]]:
        """Every unit that has begun, with its state and the reason of it."""

    def replayed(self, unit: Unit) -> tuple[list[list[Decision]], Outcome | None, Mapping[Place, Journaled]]:
        """The decisions of a unit step by step, its outcome if it has one, and its answers."""


class PeopleColumns(Protocol):
    """What a plan with people adds to the tables."""

    @property
    def columns(self) -> Mapping[str, Mapping[str, type]]:
        """Columns by table, with their types."""

    def of_match(self, unit: Unit, player: int) -> dict[str, Any]:
        """Further columns of a player in the table of matches."""

    def of_decision(self, unit: Unit, player: int, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Further columns of a decision, from the facts of its answer."""

    def visits(self) -> Iterator[dict[str, Any]]:
        """One row per person who came."""


@dataclass(frozen=True, slots=True)
class PlanSource:
    """What a plan is read from: the folder of a run, its manifest and its journal."""

    folder: Path
    manifest: Mapping[str, Any]
    journal: Journal

    @property
    def file(self) -> str:
        """What messages call the manifest."""
        return str(self.folder / "run.json")


class Plan(ABC):
    """A resolved study, as the engine sees it: the base of every plan.

    What most plans lack has a default here (no preparations, no trees, no people), so that nobody has to ask
    whether a plan has it.
    """

    kind: ClassVar[str]
    """What manifests call plans of this class; the registry of plans finds the class by it."""
    name: str
    file: str
    """What messages call the source of the plan."""
    library: Library
    retries: int
    policy: str
    refused: str
    """What happens when a model declines to answer."""
    budget: Budget
    models: tuple[str, ...]

    shard: Shard | None = None
    """The part of the units that a run of this plan plays; None: all of them."""
    shapes: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    """What the manifest keeps of games (``shapes``) and mechanisms (``rules``) that others wrote."""
    registered: Mapping[str, Any] | None = None
    """The registration that a run of this plan is bound to, as plain data."""
    base: Plan | None = None
    """The plan that this one wraps: a fork makes its units from one unit of another plan."""
    preparations: int = 0
    """How many units prepare something for others."""
    generations: int = 1
    agents: Sequence[AgentConfig] = ()
    """Every configuration of an agent once."""
    factors: Sequence[Varied] = ()
    trees: Trees = MappingProxyType({})
    """The answers of precomputed types, loaded before the plan is played."""
    outside: OutsideSeats | None = None
    """The seats of agents outside of this process, while the plan is played."""
    arrivals: Arrivals | None = None
    """The participants, while they are hosted."""
    round_columns: Mapping[str, type] = MappingProxyType({})
    """Columns of the decisions table beyond the usual ones, with their types."""

    @classmethod
    def read(cls, source: PlanSource) -> Plan:
        """The plan that a run on disk was played by; refused where runs of this kind are not opened as studies."""
        raise UsageError(f"{source.folder}: {cls.resume_hint(source.manifest)}")

    @classmethod
    def resume_hint(cls, manifest: Mapping[str, Any]) -> str | None:  # noqa: ARG003
        """Why `ostrom resume` does not go on with such a run, and what does; None: it does."""
        return None

    @classmethod
    def load_answers_for(cls, plan: Plan, runs: Path) -> None:  # noqa: ARG003
        """Give another plan what runs of this kind hold for it, before it is played."""
        raise UsageError(f"{plan.file}: runs of kind {cls.kind} hold no answers")

    counts: ClassVar[str] = "match"
    """What ``progress`` counts."""

    def played(self, states: Mapping[int, str]) -> Counted:
        """How many matches and preparations a complete run has, and how many ended, by the states of what ended."""
        ended = Counter(states.values())
        return Counted(self.planned, ended["done"], ended["skipped"], ended["failed"])

    def progress(self, states: Mapping[int, str]) -> Counted:
        """How far a run is: the units, or whatever else it is complete by."""
        return self.played(states)

    def so_far(self, states: Mapping[int, str], *, playing: bool) -> str:
        """How far a run is that is not at its end, in words; empty for one that is. Preparations are no matches."""
        far = self.progress(states)
        people = self.counts != "match"  # as long as they are invited, more of them may come
        if far.done + far.skipped >= far.planned and not (playing and people):
            return ""
        if self.preparations and not people:
            own = {unit: state for unit, state in states.items() if self.unit(unit).kind == "match"}
            far = replace(self.played(own), planned=self.planned - self.preparations)
        more = [f", {n} {how}" for n, how in ((far.skipped, "skipped"), (far.failed, "failed")) if n]
        now = ", being played" if playing else ""
        return f"so far: {far.done:,} of {how_many(far.planned, self.counts)}{''.join(more)}{now}"

    def use_old_names(self, journal: Journal) -> None:  # noqa: B027  # most plans have no renamed actions
        """Go on in the names in which a journal was begun, where actions have been renamed since."""

    @property
    @abstractmethod
    def prompts(self) -> Mapping[str, str]:
        """The prompt files that the plan uses, with a hash of each."""

    @abstractmethod
    def resolved(self) -> dict[str, Any]:
        """The study as resolved: plain data, complete, no secrets."""

    @abstractmethod
    def __len__(self) -> int:
        """How many units there are."""

    def sample(self, most: int) -> list[Unit]:
        """At most so many of its units, spread evenly."""
        return [self.unit(number) for number in sorted({place * len(self) // most for place in range(most)})]

    @property
    def planned(self) -> int:
        """How many units a complete run has: all of them, or those of its shard."""
        return len(self)

    def group(self, index: int) -> int:
        """The number by which a unit belongs to a shard: units that need each other have the same."""
        return index

    def run_name(self, name: str | None) -> str:
        """The name of the folder that a run of this name (default: that of the study) is played into."""
        run = name or self.name
        return run if self.shard is None else self.shard.folder(run)

    def divided(self, shard: Shard) -> Self:
        """The plan of one shard; refused where units cannot be played apart from each other."""
        raise UsageError(f"{self.file}: --shard {shard}: runs of kind {self.kind} are not played in shards")

    @abstractmethod
    def unit(self, index: int) -> Unit:
        """One unit by its index."""

    def question_units(self) -> Iterator[tuple[Unit, Iterable[AgentConfig]]]:
        """Units that together ask every kind of question, with the configurations that answer each of them."""
        return ((unit, [seated.config for seated in unit.players]) for unit in self.units())

    def units(self) -> Iterator[Unit]:
        """All units in the order in which they should start."""
        return (self.unit(index) for index in range(len(self)))

    @abstractmethod
    def settings(self, model: str) -> Mapping[str, Any]:
        """Client settings of a model."""

    @property
    def forked_from(self) -> dict[str, Any] | None:
        """Where a fork comes from, as its manifest records it under ``parent``; None: it is no fork."""
        return None

    @property
    def games(self) -> Iterable[Game]:
        """The games that are played, or those of the first units."""
        return [unit.game for unit in islice(self.units(), FEW_UNITS)]

    def keep_shapes(self, key: str, shapes: Mapping[str, Any]) -> None:
        """Take in shapes for the manifest."""
        self.shapes = {**self.shapes, key: {**self.shapes.get(key, {}), **shapes}}

    @property
    def hidden(self) -> Container[int]:
        """Units that no table shows: those of test visits."""
        return ()

    def people_tables(self, rows: ReplayedRows) -> PeopleColumns | None:  # noqa: ARG002
        """What people add to the tables; None for a study without people."""
        return None


class Arrivals(PersonAgentFactory, Protocol):
    """Units that arise during a run when participants arrive."""

    async def begin(self, journal: Journal) -> None:
        """Called when the journal is open: continue the visits that are under way."""

    async def next(self) -> Unit | None:
        """The next unit to be played, as soon as there is one; None: there will be no more."""

    async def ended(self, unit: Unit, error: OstromError | None) -> None:
        """Called when a unit has ended or, with an ``error``, cannot continue."""


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
    replayed: int = 0
    """Of the decisions, those that matches which go on take from the journal."""
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
    assumed: int = 0
    """Calls whose tokens no server reported believably, and tries without a reply that may have been billed."""
    assumed_tokens: int = 0
    """What the budget counts for them: an upper estimate."""
    assumed_usd: float = 0.0
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

    def count_reply(self, usage: Usage, usd: float | None) -> None:
        """Count the tokens and the price of a call that got a reply."""
        self.tokens_in += usage.input or 0
        self.tokens_out += usage.output or 0
        self.tokens_cached += usage.cached or 0
        self.unpriced += usd is None
        self.usd += usd or 0.0

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
