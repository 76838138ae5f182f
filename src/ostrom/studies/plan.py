"""Builds units of work from a study: a lazy grid whose units are accessed by index.

Units are numbered replicate by replicate, cell by cell, seating by seating, so that more seeds only append.

A manifest names the kind of its plan (``kind_of``), and each feature has the class for its own kinds. Another
distribution adds a kind with an entry point of the group ``ostrom.plans`` that names a subclass of ``Plan``.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement, product
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self, cast

import orjson
from pydantic import ValidationError

from ostrom.agents.config import AgentConfig
from ostrom.agents.language import renderer_of, styles
from ostrom.analysis.stopping import StopRule
from ostrom.engine.folder import kind_of
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Budget, Plan, PlanSource, Seated, Unit
from ostrom.engine.shards import Shard
from ostrom.framing import Library
from ostrom.games import absent as games_absent
from ostrom.games import build_game, check_game_files, game_files, game_hashes
from ostrom.games.game import Game
from ostrom.ground.errors import GameError, StudyError, UsageError
from ostrom.ground.validation import problem, validate
from ostrom.mechanisms import Mechanism, absent, mechanisms
from ostrom.mechanisms.controls import build_mechanism
from ostrom.mechanisms.selection import before_2
from ostrom.memory import memories
from ostrom.studies.baselines import split_baselines, with_shares
from ostrom.studies.checks import (
    check_asking,
    check_attributes,
    check_cell,
    check_divisible,
    check_framing_labels,
    check_memory,
    check_prompts,
    check_strategy_name,
    library_of,
)
from ostrom.studies.extensions import plan_class
from ostrom.studies.factors import (
    Cell,
    Factor,
    Grid,
    agent_names,
    canonical,
    clients_of,
    error_at,
    on_top,
    read_factors,
    set_path,
    society_of,
    type_spec,
    unit_key,
    watching_types,
)
from ostrom.studies.prompts import library_of_run, prompts_of
from ostrom.studies.schema import NO_VERSUS, StudyFile

VARIED = ("game", "mechanism", "agent", "types", "seats", "seating", "observers")
"""Keys of a study that factors can vary."""
MOST_UNITS = 2**53
"""The most units: up to this, match numbers are exact in every reader of the tables."""
CHECK_ALL = 2000
"""The most cells that are all checked before the first match; in larger grids every level is checked once."""


class StudyPlan(Plan):
    """The plan of a study, as the engine plays it."""

    kind: ClassVar[str] = "study"
    agents: tuple[AgentConfig, ...] = ()
    _before_2 = False
    """Whether the run was begun by a version before 2.0."""
    _questions: Sequence[str] = ()
    """The questions of the journal that the plan continues; they show the names of the actions."""
    _renamed: Sequence[Game] = ()
    """The games whose actions had other names in earlier versions."""
    factors: tuple[Factor, ...] = ()
    _prepared: Mapping[int, int] = MappingProxyType({})
    """Cells whose units depend on each other, with their number of preparations."""
    _planned = 0
    """The number of units of its shard."""

    def __init__(self, study: StudyFile, library: Library | None = None, file: str | None = None) -> None:
        self.study, self.file, self.name = study, file or study.name, study.name
        self.library = library or Library()
        self.retries, self.policy, self.refused = study.invalid.retries, study.invalid.policy, study.refused
        self.budget = Budget(**study.budget.model_dump())
        self.factors = read_factors(study.vary, self.file)
        self.grid = Grid(self.factors, study.only or (), self.file)
        self.cells = len(self.grid)
        self._base = study.model_dump(include={*VARIED, *(() if study.people is None else ("people",))})
        self._game = lru_cache(maxsize=4096)(self._build_game)
        self._mechanism = lru_cache(maxsize=4096)(self._build_mechanism)
        self._agent = lru_cache(maxsize=4096)(self._build_agent)
        self._cell = lru_cache(maxsize=256)(self._build_cell)
        self._warned: set[tuple[int, int]] = set()
        self._sound: set[int] = set()
        self._starts = self._count()
        self._check()
        self._settings, self.models = self._find_models()

    @classmethod
    def read(cls, source: PlanSource) -> Self:
        """Read the plan of a run from the study in its manifest."""
        check_game_files(game_hashes(source.manifest), source.file)
        plan = cls(
            validate(StudyFile, source.manifest["study"], source.file, "study"),
            library_of_run(source.manifest, source.folder),
            source.file,
        )
        shard = Shard.of_manifest(source.manifest)
        return plan if shard is None else plan.divided(shard)

    @classmethod
    def with_files(cls, study: StudyFile, folder: Path, file: str) -> StudyFile:  # noqa: ARG003
        """Return the study with the content of its text files; most studies have none."""
        return study

    def check_texts(self) -> None:
        """Refuse texts beside the study that contradict it; most studies have none."""

    @property
    def stop(self) -> StopRule | None:
        """Return the stopping rule; None if the study has none."""
        return self.study.stop

    def add_model(self, model: str, settings: Mapping[str, Any]) -> None:
        """Add a model to the run that is no type of the study."""
        self._settings.setdefault(model, dict(settings))
        self.models = tuple(self._settings)

    @cached_property
    def games(self) -> tuple[Game, ...]:
        """The games that are played."""
        return tuple({id(cell.game): cell.game for _, cell in self._sample()}.values())

    def tables(self) -> Iterator[Cell]:
        """Yield every cell, or one for each of several games in it."""
        return (self._cell(number) for number in range(self.cells))

    def resolved(self) -> dict[str, Any]:
        """Return the resolved study as plain data."""
        data: dict[str, Any] = self.study.model_dump(mode="json")
        if self.study.answers:
            data["answers"] = [one.model_dump(mode="json", exclude_defaults=True) for one in self.study.answers]
        # A study without these keys keeps the form of earlier versions.
        unused = {
            name for name in ("people", "stop", "models", "answers", "seeds_shared") if data[name] in (None, {}, [])
        }
        return {name: value for name, value in data.items() if name not in unused}

    def settings(self, model: str) -> Mapping[str, Any]:
        """The client settings of a model."""
        return self._settings[model]

    # -- counting ------------------------------------------------------------------------------------

    def _count(self) -> list[int]:
        """Return the first unit of each cell within a replicate; sizes are cached, as they depend on few fields."""
        sizes: dict[tuple[int, ...], tuple[int, int, bool]] = {}
        counted = {"game", "mechanism", "types", "seating", "observers"}
        relevant = [not counted.isdisjoint(path.split(".")[0] for path in factor.paths) for factor in self.factors]
        starts, total, self.preparations, self.generations = [], 0, 0, 1
        prepared: dict[int, int] = {}
        for number, levels in enumerate(self.grid):
            key = tuple(level for level, counts in zip(levels, relevant, strict=True) if counts)
            if key not in sizes:
                cell = self._cell(number)
                sizes[key] = cell.size, len(cell.preparations), cell.mechanism.generations > 1
                self.generations = max(self.generations, cell.mechanism.generations)
            size, preparations, chained = sizes[key]
            if preparations or chained:
                prepared[number] = preparations
            starts.append(total)
            total += size
            self.preparations += preparations * self.study.seeds
        self._per_replicate, self._prepared = total, prepared
        if total * self.study.seeds > MOST_UNITS:
            raise StudyError(
                f"makes {total * self.study.seeds} matches, more than can be numbered (at most {MOST_UNITS})",
                file=self.file, key="seeds", actual=self.study.seeds,
            )  # fmt: skip
        return starts

    def __len__(self) -> int:
        return self._per_replicate * self.study.seeds

    @property
    def matches(self) -> int:
        """Return the number of matches among the units; the others are preparations."""
        return self.planned - self.preparations

    # -- shards --------------------------------------------------------------------------------------

    @property
    def planned(self) -> int:
        """Return the number of units of a complete run: all, or those of its shard."""
        return len(self) if self.shard is None else self._planned

    def group(self, index: int) -> int:
        """Return the shard group of a unit: its cell and seed, if units share preparations."""
        if not self._prepared:
            return index
        replicate, number, _ = self._place(index)
        return replicate * self.cells + number if number in self._prepared else index

    def divided(self, shard: Shard) -> Self:
        """Return the plan of one shard with its part of the budget; refused if every unit depends on all others."""
        together = bool(self._prepared) and self.cells * self.study.seeds == 1 < shard.of
        check_divisible(
            f"{self.file}: --shard {shard}",
            self.stop is not None,
            self.study.people is not None,
            len(self) if together else 0,
        )
        plan = copy(self)
        plan.shard, plan.budget = shard, self.budget.for_shard(shard)
        plan._planned = sum(map(plan.replicates_in_shard, range(self._per_replicate))) if self._prepared else len(
            range(shard.number - 1, len(self), shard.of)
        )  # fmt: skip
        starts = {number: self._starts[number] for number in self._prepared}
        plan.preparations = sum(self._prepared[n] * plan.replicates_in_shard(start) for n, start in starts.items())
        return plan

    def replicates_in_shard(self, index: int) -> int:
        """Return the number of seeds of a unit of the first replicate in this shard."""
        if self.shard is None:
            return self.study.seeds
        return sum(self.shard.owns(self.group(unit)) for unit in range(index, len(self), self._per_replicate))

    def unit(self, index: int) -> Unit:
        """One unit by its index."""
        return self._unit(*self._place(index))

    def rules(self, index: int, changes: Mapping[str, Any]) -> Mechanism:
        """The mechanism of a unit with some of its parameters changed."""
        data, _ = self._data(self._place(index)[1])
        for name, value in changes.items():
            set_path(data, f"mechanism.{name}", value)
        return self._mechanism(canonical(data["mechanism"])).for_players(len(self.unit(index).players))

    def _place(self, index: int) -> tuple[int, int, int]:
        """Return the replicate, cell and place within the cell of a unit."""
        if not 0 <= index < len(self):
            raise StudyError(f"there are {len(self)} matches, numbered from 0", key="match", actual=index)
        replicate, rest = divmod(index, self._per_replicate)
        number = bisect_right(self._starts, rest) - 1
        return replicate, number, rest - self._starts[number]

    def units(self) -> Iterator[Unit]:
        """Yield all units by replicate, later generations last; preparations and long matches start first."""
        order = self._order()
        for generation in range(self.generations):
            for replicate in range(self.study.seeds):
                for number in order:
                    first = replicate * self._per_replicate + self._starts[number]
                    for place in self._cell(number).places(generation):
                        if self.shard is None or self.shard.owns(self.group(first + place)):
                            yield self._unit(replicate, number, place)

    def _order(self) -> range | list[int]:
        """Return the cells with the longest matches first, so that no long match runs alone at the end.

        Among those of one length, cells whose prompts begin alike stand together: servers keep what they read last.
        """
        if self.cells > 20_000:
            return range(self.cells)
        places: list[tuple[int, int]] = []
        beginnings: dict[str, int] = {}
        for number in range(self.cells):
            cell = self._cell(number)
            rank = beginnings.setdefault(self._beginning(number, cell), len(beginnings))
            places.append((-cell.mechanism.most_decisions(cell.game), rank))
        return sorted(range(self.cells), key=lambda n: (places[n], n))

    def _beginning(self, number: int, cell: Cell) -> str:
        """Return what the beginning of a cell's prompts depends on: the game and its framing."""
        return canonical(
            [
                self._data(number)[0]["game"],
                [(c.framing.model_dump(mode="json"), c.persona, c.prompts) for c in cell.types.values()],
            ]
        )

    def _unit(self, replicate: int, number: int, place: int) -> Unit:
        cell = self._cell(number)
        first = replicate * self._per_replicate + self._starts[number]
        index, seed = first + place, self.study.seed + replicate
        if place < len(cell.preparations):
            name, seat = cell.preparations[place]
            preparation = cell.mechanism.preparation(cell.game, seat)
            assert preparation is not None
            key = unit_key(cell.labels, ["prepare", name, seat])
            return Unit(
                index, key, seed, cell.columns, cell.game, preparation,
                (self._seated(cell, name, seat),), kind="preparation", seat=seat,
            )  # fmt: skip
        players, generation = cell.seating(place)
        mechanism, needs = cell.mechanism.for_players(len(players)), tuple[int, ...]()
        if cell.preparations:
            places = {owner: i for i, owner in enumerate(cell.preparations)}
            needs = tuple(first + places[p.key, seat] for seat, p in enumerate(players))
        who, columns = [p.key for p in players], cell.columns
        if mechanism.generations > 1:
            mechanism, columns = mechanism.generation(generation), {**columns, "generation": generation}
            needs = (index - len(cell.seatings),) if generation else ()
            who.append(f"generation {generation}")
        return Unit(index, unit_key(cell.labels, who), seed, columns, cell.game, mechanism, players, needs)

    def matches_in(self, number: int) -> Iterator[Unit]:
        """The matches of a cell with the first seed."""
        cell = self._cell(number)
        return (self._unit(0, number, place) for place in range(len(cell.preparations), cell.size))

    def question_units(self) -> Iterator[tuple[Unit, Iterable[AgentConfig]]]:
        """Yield units that together ask every question, with the configurations asked (see prompts)."""
        met: set[tuple[int, int, bool]] = set()
        for number, cell in self._sample():
            for place in range(cell.size):
                prepares = place < len(cell.preparations)
                seating = [self._seated(cell, *cell.preparations[place])] if prepares else cell.seating(place)[0]
                configs = [seated.config for seated in seating]
                pairs = {(id(config), id(cell.mechanism), prepares) for config in configs}
                if not pairs <= met:
                    met |= pairs
                    yield self._unit(0, number, place), configs

    @cached_property
    def prompts(self) -> dict[str, str]:
        """The prompt files that the study uses and the game files that it names, with a hash of each."""
        return {**prompts_of(self), **game_files([self.study.game, self.study.vary], self.file)}

    # -- cells ---------------------------------------------------------------------------------------

    def _data(self, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the study's fields in one cell, and the labels of its levels."""
        data = deepcopy(self._base)
        labels: dict[str, Any] = {}
        for factor, level in zip(self.factors, self.grid.levels(number), strict=True):
            labels[factor.name] = factor.levels[level].label
            for path, value in factor.levels[level].assigns.items():
                self._assign(data, path, value, factor.name)
        return data, labels

    def signature(self, number: int) -> str:
        """Return what is played in a cell, independent of level names: equal signatures are played alike."""
        data, cell = self._data(number)[0], self._cell(number)
        who = [
            [[p.key, p.config.identity, p.config.attributes, p.observes] for p in players]
            for players in (*cell.seatings, [self._seated(cell, *place) for place in cell.preparations])
        ]
        spare = None if self.study.people is None else [c.identity for c in cell.types.values()]
        return canonical([data["game"], data["mechanism"], who, repr(data.get("people")), spare])

    def _build_cell(self, number: int) -> Cell:
        data, labels = self._data(number)
        if number not in self._sound:  # a level may set a field to a value that no study file could have
            validate(StudyFile, {"name": self.study.name, **data}, self.file)
            self._sound.add(number)
        return self._cell_of(data, labels, self._traits(number))

    def _cell_of(self, data: Mapping[str, Any], labels: Mapping[str, Any], traits: Mapping[str, Any]) -> Cell:
        """Build a cell from the study's fields in it."""
        game = self._game(canonical(data["game"]))
        mechanism = self._mechanism(canonical(data["mechanism"]))
        named = data["types"] or {"": {}}
        types = {}
        for name, spec in named.items():
            with error_at(f"types.{name}" if name else "agent", spec):
                config = self._player(on_top(data["agent"], type_spec(spec)), game)
            types[name or config.label] = config
        seats = {int(k): v for k, v in (data["seats"] or {}).items()}
        for seat in seats:
            if not 1 <= seat <= game.seats:
                raise StudyError(f"game {game.name} has seats 1 to {game.seats}", file=self.file, key=f"seats.{seat}")
        try:
            mechanism.fit(game)
        except GameError as error:
            raise StudyError(str(error), file=self.file, key="mechanism") from None
        prepared = [] if mechanism.preparation(game, 0) is None else types
        preparations = tuple((name, seat) for name in prepared for seat in range(game.seats))
        self.keep_shapes("rules", mechanisms.shapes(data["mechanism"], game, list(types)))
        cell = Cell(labels, game, mechanism, types, seats, (), preparations, traits)
        seatings = tuple(self._observed(cell, data["seating"], data["observers"]))
        if seats:
            players = {place: self._seated(cell, *place).config for place in preparations}
            for seating in seatings:
                players |= {(p.name, i % game.seats): p.config for i, p in enumerate(seating) if not p.observes}
            cell = replace(cell, names=agent_names(types, players))
            seatings = tuple(self._observed(cell, data["seating"], data["observers"]))
        return replace(cell, seatings=seatings)

    def _traits(self, number: int) -> dict[str, Any]:
        return {
            name: value
            for factor, level in zip(self.factors, self.grid.levels(number), strict=True)
            for name, value in factor.levels[level].traits.items()
        }

    def _assign(self, data: dict[str, Any], path: str, value: Any, factor: str) -> None:
        if path.split(".")[0] not in self._base:
            raise StudyError(
                "cannot be varied", file=self.file, key=f"vary.{factor}", actual=path, allowed=sorted(self._base)
            )
        try:
            set_path(data, path, value)
        except StudyError as error:
            raise StudyError(
                f"{error.key}: {error.problem}", file=self.file, key=f"vary.{factor}", actual=path
            ) from None

    def _seatings(self, cell: Cell, seating: str, apart: Sequence[str] = ()) -> Iterator[tuple[Seated, ...]]:
        """Yield the seatings of a cell, one per match; types ``apart`` get no seat if seats have types."""
        seats, names = cell.game.seats, list(cell.types)
        if seating == "seats" or cell.mechanism.society:
            names = [name for name in names if name not in apart]
        scripts = [name for name, config in cell.types.items() if config.strategy is not None]
        society = cell.mechanism.society
        if not society and seating == "versus" and not (scripts and set(names) - set(scripts)):
            raise StudyError(NO_VERSUS, file=self.file, key="types", actual=names)
        if not society and seating == "seats" and len(names) != seats:
            raise StudyError(
                f"seating 'seats' needs one type per seat: game {cell.game.name} has {seats} seats",
                file=self.file, key="types", actual=names,
            )  # fmt: skip
        tables: dict[str, Callable[[], Iterable[tuple[str, ...]]]] = {
            "society": lambda: [society_of(cell.mechanism, cell.game, names, self.file)],
            "self": lambda: [(name,) * seats for name in names],
            "ordered": lambda: product(names, repeat=seats),
            "versus": lambda: [(n, *[s] * (seats - 1)) for n in names if n not in scripts for s in scripts],
            "unordered": lambda: combinations_with_replacement(names, seats),
            "seats": lambda: [tuple(names)],
        }
        for table in tables["society" if society else seating]():
            yield tuple(self._seated(cell, name, i % seats) for i, name in enumerate(table))

    def _observed(self, cell: Cell, seating: str, selection: str | list[str]) -> Iterator[tuple[Seated, ...]]:
        """Yield every seating with every choice of observers, if the mechanism has any."""
        count = cell.mechanism.observers
        if not count:
            yield from self._seatings(cell, seating)
            return
        names = watching_types(
            list(cell.types),
            {name for name, config in cell.types.items() if config.strategy is not None},
            selection,
            self.file,
        )
        for players in self._seatings(cell, seating, names if selection not in ("all", "models") else ()):
            for watching in product(names, repeat=count):
                yield (*players, *(Seated(name, cell.types[name], observes=True) for name in watching))

    def _seated(self, cell: Cell, name: str, seat: int) -> Seated:
        config = cell.types[name]
        if over := cell.seats.get(seat + 1):
            with error_at(f"seats.{seat + 1}", over):
                config = self._player(on_top(config.model_dump(exclude_unset=True), over), cell.game)
        own = cell.names.get((name, seat))
        return Seated(own or name, config, type=own and name)

    def _player(self, fields: Mapping[str, Any], game: Game) -> AgentConfig:
        """Return the configuration of an agent in a game; a polar memory gets the shares of its baseline."""
        plain, baselines = split_baselines(fields)
        config = self._agent(canonical(plain))
        if baselines and (memory := with_shares(config, baselines, game, self.file)):
            return self._agent(canonical({**plain, "memory": memory}))
        return config

    # -- parts ---------------------------------------------------------------------------------------

    def _build_game(self, spec: str) -> Game:
        game = build_game(orjson.loads(spec), key="game", file=self.file)
        self.keep_shapes("shapes", games_absent.shapes(orjson.loads(spec), game))
        if game.formerly:
            self._renamed = (*self._renamed, game)
        return game.as_journaled(self._questions)

    def use_old_names(self, journal: Journal) -> None:
        """Rebuild the parts whose names differ in the journal, or that earlier versions read differently."""
        if journal.versions and journal.versions[0].startswith(("0.", "1.")):
            self._before_2 = True
            self._mechanism.cache_clear()
            self._cell.cache_clear()
        if any(game.as_journaled(journal.questions) is not game for game in self._renamed):
            self._questions = journal.questions
            self._game.cache_clear()
            self._cell.cache_clear()
            self.__dict__.pop("games", None)

    def _build_mechanism(self, spec: str) -> Mechanism:
        stated = orjson.loads(spec)
        return build_mechanism(before_2(stated) if self._before_2 else stated, key="mechanism", file=self.file)

    def _build_agent(self, spec: str) -> AgentConfig:
        try:
            config = AgentConfig.model_validate(orjson.loads(spec))
        except ValidationError as error:
            raise problem(error, AgentConfig, self.file, "agent") from None
        if config.strategy is not None:
            check_strategy_name(config.strategy, self.file)
        # A strategy uses no style, but an unknown style is refused there too.
        styles.build(config.style, key="agent.style", file=self.file)
        check_prompts(config, library_of(config, self.library, self.file), self.file)
        check_asking(config, self.file)
        memory = memories.build(config.memory, key="agent.memory", file=self.file)
        if config.kind not in memory.readers:
            raise StudyError(
                f"memory {memory.name} is in words and cannot be used by a {config.kind}",
                file=self.file, key="agent.memory", actual=config.memory,
            )  # fmt: skip
        return config

    def _check(self) -> None:
        """Check every cell of a small grid, or every level of a large one, before the first match."""
        agents: dict[str, AgentConfig] = {}
        for _, cell in self._sample():
            for config in cell.types.values():
                check_memory(config, cell.game, self.file)
            # Check every configuration once; types that differ only by seat are different configurations.
            players = {id(seated.config): seated.config for seating in cell.seatings for seated in seating}
            for config in players.values():
                agents.setdefault(f"{config.identity} {canonical(config.attributes)}", config)
                check_memory(config, cell.game, self.file)
                check_framing_labels(config, cell.game, self.file)
                self._check_words(config, cell.game)
            check_cell(cell.game, cell.mechanism, cell.seatings, self.policy, self.file)
        self.agents = tuple(agents.values())
        check_attributes(self.agents, self.factors, self.file)

    def _check_words(self, config: AgentConfig, game: Game) -> None:
        """Refuse a framing with a story that the game lacks; each pair is checked once."""
        pair = (id(config), id(game))
        if config.kind == "strategy" or pair in self._warned:
            return
        self._warned.add(pair)
        if lacking := renderer_of(config, self.library).unsupported(game):
            raise StudyError(f"game {game.name}: {lacking}", file=self.file, key="agent.framing")

    def _sample(self) -> Iterator[tuple[int, Cell]]:
        numbers = range(self.cells) if self.cells <= CHECK_ALL else self.grid.covering_cells()
        return ((number, self._cell(number)) for number in numbers)

    def _find_models(self) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
        """All model clients of the study; one with two sets of settings is refused."""
        configs = (seated.config for _, cell in self._sample() for seating in cell.seatings for seated in seating)
        try:
            clients = clients_of(configs)
        except StudyError as error:
            error.file = self.file
            raise error.moved("agent.settings") from None
        return clients, tuple(clients)


def read_plan(source: PlanSource) -> StudyPlan:
    """Read the plan of a run on disk; refused if it is no run of a study."""
    for kind, key in ((games_absent, "shapes"), (absent, "rules")):
        kind.keep_shapes(source.manifest.get(key) or ())
    plan = plan_class(kind_of(source.manifest), source.file).read(source)
    if not isinstance(plan, StudyPlan):
        raise UsageError(f"{source.folder}: is no run of a study (kind {plan.kind})")
    plan.use_old_names(source.journal)
    return plan


def read_base(source: PlanSource) -> StudyPlan:
    """Read the plan that a fork wraps."""
    manifest = {key: value for key, value in source.manifest.items() if key not in ("kind", "parent")}
    parent = source.manifest["parent"].get("of")
    return read_plan(replace(source, manifest={**manifest, "parent": parent} if parent else manifest))


def study_class(study: StudyFile) -> type[StudyPlan]:
    """Return the plan class of a study: one with people has its own."""
    return cast("type[StudyPlan]", plan_class("study" if study.people is None else "people"))


def plan_of(study: StudyFile, library: Library | None = None, file: str | None = None) -> StudyPlan:
    """The plan of a study, with or without people."""
    return study_class(study)(study, library, file)


def with_files(study: StudyFile, folder: Path, file: str) -> StudyFile:
    """Return the study with the content of its text files for people."""
    return study_class(study).with_files(study, folder, file)
