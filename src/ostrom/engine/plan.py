"""Plans: a plan is a lazy sequence of units of work, accessed by index."""

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
from ostrom.engine.journal import Journal
from ostrom.engine.shards import Shard
from ostrom.framing import Library
from ostrom.games.game import Game
from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.moved import FormerNames
from ostrom.ground.streams import Streams, key_of
from ostrom.ground.words import how_many
from ostrom.mechanisms.base import Mechanism
from ostrom.models.base import Usage

FEW_UNITS = 24
"""The number of units searched for games, if a plan does not list them."""


@dataclass(frozen=True, slots=True)
class Seated:
    """A player of a unit: its name in tables and its configuration."""

    name: str
    config: AgentConfig
    observes: bool = False
    """Whether the player only answers questions about the match, without a seat."""
    type: str | None = None
    """The agent type, if the seat changes its configuration and so its name."""

    @property
    def key(self) -> str:
        """Return the type's name, or the player's own: keys of units, and so their random draws, depend on it."""
        return self.type or self.name


class EarlierPlayers(NamedTuple):
    """The players of a forked match before a step, and the round that begins there."""

    step: int
    round: int
    players: tuple[Seated, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """One piece of work: a match, or a preparation for later matches."""

    index: int
    key: str
    """The identity of the unit apart from its seed; random draws depend on both, never on the index."""
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
    """The number of its first step; a fork may begin in the middle of a match."""
    origin: Streams | None = None
    """The random streams of the match that this one is a fork of."""
    since: int = 0
    """The first round that the fork plays itself."""
    earlier: tuple[EarlierPlayers, ...] = ()
    """The players of the copied part of a fork, oldest first."""

    @property
    def seated(self) -> tuple[Seated, ...]:
        """Return all players that decided in the unit: its own, then those of each copied match."""
        return (*self.players, *(seated for past in self.earlier for seated in past.players))

    def before(self, step: int, number: int) -> tuple[EarlierPlayers, ...]:
        """Return the ``earlier`` players of a fork of this unit that begins at a step and round ``number``."""
        return tuple(
            EarlierPlayers(min(one.step, step), min(one.round, number), one.players)
            for one in (*self.earlier, EarlierPlayers(step, number, self.players))
        )

    def decides(self, player: int, step: int | None = None, number: int = 0) -> int:
        """Return the index in ``seated`` of who decides for a player at a step (or in a round)."""
        copied = (number < past.round if step is None else step < past.step for past in self.earlier)
        return next((place * len(self.players) + player for place, holds in enumerate(copied, 1) if holds), player)

    @property
    def streams(self) -> Streams:
        """The random streams of this unit."""
        return Streams(self.seed, key_of(self.key), self.origin, self.since)


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a run's total spending over all sessions; None means no limit."""

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None

    def for_shard(self, shard: Shard) -> Budget:
        """Return the budget of one shard: an equal part, rounded so that the parts never exceed the whole.

        >>> Budget(calls=10, usd=2.0).for_shard(Shard(1, 4))
        Budget(calls=3, tokens=None, usd=0.5)
        """
        calls, tokens = (None if total is None else shard.portion_of(total) for total in (self.calls, self.tokens))
        return Budget(calls, tokens, None if self.usd is None else self.usd / shard.of)


class VariedLevel(Protocol):
    """One level of a factor, as the tables need it."""

    @property
    def label(self) -> str | int | float | bool | None:
        """Return the value in the factor's column."""

    @property
    def traits(self) -> Mapping[str, Any]:
        """Return the values of the columns that depend on the level."""


class Varied(Protocol):
    """A factor, as the tables need it: a column with its levels, and the columns that depend on them."""

    @property
    def name(self) -> str:
        """The name of the factor's column."""

    @property
    def levels(self) -> Sequence[VariedLevel]:
        """The levels of the factor, in order."""

    @property
    def traits(self) -> Sequence[str]:
        """Return the names of the columns that depend on the levels."""


class PeopleColumns(Protocol):
    """The columns that a plan with people adds to the tables."""

    @property
    def columns(self) -> Mapping[str, Mapping[str, type]]:
        """Columns by table, with their types."""

    def of_match(self, unit: Unit, player: int) -> dict[str, Any]:
        """Return further columns of a player in the matches table."""

    def of_decision(self, unit: Unit, player: int, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return further columns of a decision, from the facts of its answer."""

    def visits(self) -> Iterator[dict[str, Any]]:
        """Yield one row for each person who came."""


@dataclass(frozen=True, slots=True)
class PlanSource:
    """The source of a plan: the folder of a run, its manifest and its journal."""

    folder: Path
    manifest: Mapping[str, Any]
    journal: Journal

    @property
    def file(self) -> str:
        """Return the name of the manifest for messages."""
        return str(self.folder / "run.json")


FORMER = {
    "adopt": "use_old_names", "asked": "question_units", "gone_on_with": "resume_hint", "provide": "load_answers_for"
}  # fmt: skip
"""Names of overridable methods in 1.0, and their present names."""


class Plan(FormerNames, ABC, former=FORMER):
    """A resolved study, as the engine needs it: the base class of all plans.

    What most plans lack has a default here (no preparations, no trees, no people), so that callers need not check
    whether a plan has it.
    """

    kind: ClassVar[str]
    """The kind of plan in manifests; the registry of plans finds the class by it."""
    name: str
    file: str
    """The name of the plan's source for messages."""
    library: Library
    retries: int
    policy: str
    refused: str
    """The policy for a refusal by a model."""
    budget: Budget
    models: tuple[str, ...]

    shard: Shard | None = None
    """The shard that a run of this plan plays; None means all units."""
    shapes: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    """Descriptions of games (``shapes``) and mechanisms (``rules``) of other packages, for the manifest."""
    registered: Mapping[str, Any] | None = None
    """The registration of the run, as plain data; None if it has none."""
    base: Plan | None = None
    """The wrapped plan: a fork makes its units from one unit of another plan."""
    preparations: int = 0
    """The number of units that are preparations for others."""
    generations: int = 1
    agents: Sequence[AgentConfig] = ()
    """All distinct agent configurations."""
    factors: Sequence[Varied] = ()
    trees: Trees = MappingProxyType({})
    """The answers of precomputed types, loaded before the plan is played."""
    outside: OutsideSeats | None = None
    """The seats of external agents, during play."""
    arrivals: Arrivals | None = None
    """The source of units for arriving participants, while they are hosted."""
    round_columns: Mapping[str, type] = MappingProxyType({})
    """Extra columns of the decisions table, with their types."""

    @classmethod
    def read(cls, source: PlanSource) -> Plan:
        """Read the plan of a run on disk; refused for kinds of runs that are not opened as studies."""
        raise UsageError(f"{source.folder}: {cls.resume_hint(source.manifest)}")

    @classmethod
    def resume_hint(cls, manifest: Mapping[str, Any]) -> str | None:  # noqa: ARG003
        """Return why `ostrom resume` cannot continue such a run, and what can; None if it can."""
        return None

    @classmethod
    def load_answers_for(cls, plan: Plan, runs: Path) -> None:  # noqa: ARG003
        """Load the answers that runs of this kind hold for another plan, before it is played."""
        raise UsageError(f"{plan.file}: runs of kind {cls.kind} hold no answers")

    counts: ClassVar[str] = "match"
    """The noun for what ``progress`` counts."""

    def played(self, states: Mapping[int, str]) -> Counted:
        """Return the numbers of matches and preparations, planned and ended, by the states of ended units."""
        ended = Counter(states.values())
        return Counted(self.planned, ended["done"], ended["skipped"], ended["failed"])

    def progress(self, states: Mapping[int, str]) -> Counted:
        """Return the progress of a run in units, or in whatever completes it."""
        return self.played(states)

    def so_far(self, states: Mapping[int, str], *, playing: bool) -> str:
        """Describe the progress of an unfinished run; empty for a finished one. Preparations are no matches."""
        counted = self.progress(states)
        people = self.counts != "match"  # more people may come as long as they are invited
        if counted.done + counted.skipped >= counted.planned and not (playing and people):
            return ""
        if self.preparations and not people:
            match_states = {unit: state for unit, state in states.items() if self.unit(unit).kind == "match"}
            counted = replace(self.played(match_states), planned=self.planned - self.preparations)
        more = [f", {n} {how}" for n, how in ((counted.skipped, "skipped"), (counted.failed, "failed")) if n]
        more += [", being played"] if playing else []
        return f"so far: {counted.done:,} of {how_many(counted.planned, self.counts)}{''.join(more)}"

    def use_old_names(self, journal: Journal) -> None:  # by default nothing: most plans have no renamed actions
        """Use the action names of an older journal, if actions have been renamed since."""

    @property
    @abstractmethod
    def prompts(self) -> Mapping[str, str]:
        """The prompt files that the plan uses, with a hash of each."""

    @abstractmethod
    def resolved(self) -> dict[str, Any]:
        """Return the resolved study as complete plain data, without secrets."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of units."""

    def sample(self, most: int) -> list[Unit]:
        """Return at most ``most`` units, spread evenly."""
        return [self.unit(number) for number in sorted({place * len(self) // most for place in range(most)})]

    @property
    def planned(self) -> int:
        """Return the number of units of a complete run: all, or those of its shard."""
        return len(self)

    def group(self, index: int) -> int:
        """Return the shard group of a unit: units that depend on each other have the same group."""
        return index

    def run_name(self, name: str | None) -> str:
        """Return the folder name for a run of this name (default: that of the study)."""
        run = name or self.name
        return run if self.shard is None else self.shard.folder(run)

    def divided(self, shard: Shard) -> Self:
        """Return the plan of one shard; refused if units cannot be played separately."""
        raise UsageError(f"{self.file}: --shard {shard}: runs of kind {self.kind} are not played in shards")

    @abstractmethod
    def unit(self, index: int) -> Unit:
        """Return the unit at an index."""

    def question_units(self) -> Iterator[tuple[Unit, Iterable[AgentConfig]]]:
        """Yield units that together ask every kind of question, with the configurations that answer them."""
        return ((unit, [seated.config for seated in unit.players]) for unit in self.units())

    def units(self) -> Iterator[Unit]:
        """Yield all units in starting order."""
        return (self.unit(index) for index in range(len(self)))

    @abstractmethod
    def settings(self, model: str) -> Mapping[str, Any]:
        """Return the client settings of a model."""

    @property
    def forked_from(self) -> dict[str, Any] | None:
        """Return the origin of a fork for the manifest's key ``parent``; None if it is no fork."""
        return None

    @property
    def games(self) -> Iterable[Game]:
        """Return the games of the first units; plans that list their games override this."""
        return [unit.game for unit in islice(self.units(), FEW_UNITS)]

    def keep_shapes(self, key: str, shapes: Mapping[str, Any]) -> None:
        """Store descriptions of parts for the manifest."""
        self.shapes = {**self.shapes, key: {**self.shapes.get(key, {}), **shapes}}

    @property
    def hidden(self) -> Container[int]:
        """Return units that no table shows: those of test visits."""
        return ()

    def people_tables(self, rows: Any) -> PeopleColumns | None:  # noqa: ARG002
        """Return the columns that people add to the tables (``engine.rows.Rows``); None for a study without people."""
        return None


class Arrivals(PersonAgentFactory, Protocol):
    """Units created during a run when participants arrive."""

    async def begin(self, journal: Journal) -> None:
        """Continue the visits under way; called when the journal is open."""

    async def next(self) -> Unit | None:
        """Wait for the next unit and return it; None when there are no more."""

    async def ended(self, unit: Unit, error: OstromError | None) -> None:
        """Handle the end of a unit; with an ``error`` it cannot continue."""


@dataclass(frozen=True, slots=True)
class Counted:
    """How many units of one kind are planned and how they ended."""

    planned: int
    done: int
    skipped: int
    failed: int


@dataclass(slots=True)
class Tally:
    """Counters of a run in progress. The first four count all units, preparations included."""

    matches: int = 0
    done: int = 0
    skipped: int = 0
    failed: int = 0
    resumed: int = 0
    decisions: int = 0
    replayed: int = 0
    """The number of decisions that resumed matches take from the journal."""
    calls: int = 0
    in_flight: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    """Prompt tokens that servers had in their caches."""
    usd: float = 0.0
    unpriced: int = 0
    """Calls of unknown price; they never count as free."""
    invalid: int = 0
    retries: int = 0
    policies: int = 0
    refused: int = 0
    """Calls that a content filter or the model itself declined."""
    assumed: int = 0
    """Calls without a plausible report of tokens, and tries without a reply that may have been billed."""
    assumed_tokens: int = 0
    """The tokens that the budget counts for the calls of ``assumed``: an upper estimate."""
    assumed_usd: float = 0.0
    trouble: str | None = None
    """The error of the last call, until one succeeds."""
    wait_until: float = 0.0
    """The time (monotonic clock) until which a server asked not to be called."""
    cached: int = 0
    batches: int = 0
    """The number of pending batches."""
    batches_left: int = 0
    """The number of batches that a stopped session leaves at their services."""
    lost_workers: int = 0
    """The number of lost workers of a cluster; their units were given to others."""
    failures: list[str] = field(default_factory=list)
    preparations: int = 0
    """The number of units that are preparations, such as designs."""
    prepared: Counter[str] = field(default_factory=Counter)
    """The number of ended preparations, by state."""

    def count_reply(self, usage: Usage, usd: float | None) -> None:
        """Count the tokens and the price of a call that got a reply."""
        self.tokens_in += usage.input or 0
        self.tokens_out += usage.output or 0
        self.tokens_cached += usage.cached or 0
        self.unpriced += usd is None
        self.usd += usd or 0.0

    def of_preparations(self) -> Counted:
        """Return the counts of preparations."""
        return Counted(self.preparations, *(self.prepared[state] for state in ("done", "skipped", "failed")))

    def of_matches(self) -> Counted:
        """Return the counts of matches."""
        other = self.of_preparations()
        return Counted(
            self.matches - other.planned,
            self.done - other.done,
            self.skipped - other.skipped,
            self.failed - other.failed,
        )
