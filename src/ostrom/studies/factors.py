"""Factors, their levels, the grid of all combinations, and how a level sets fields by path.

A cell is one combination of levels, resolved: what is played in it, by whom, in how many units of work.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel

from ostrom.agents.config import AgentConfig
from ostrom.engine.plan import Seated
from ostrom.games.game import Game
from ostrom.ground.errors import GameError, StudyError, UnknownName, unknown_key
from ostrom.ground.python_files import readable
from ostrom.ground.registry import write_spec
from ostrom.ground.yaml import DEEPEST
from ostrom.mechanisms import Mechanism
from ostrom.models import common_settings
from ostrom.studies.sources import Entry, sources


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a factor: its label in tables and the fields that it sets."""

    label: str | int | float | bool | None
    assigns: Mapping[str, Any]
    traits: Mapping[str, Any] = field(default_factory=dict)
    """Further table columns that depend on the level."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor of a study: its name and its levels."""

    name: str
    levels: tuple[Level, ...]

    @property
    def traits(self) -> tuple[str, ...]:
        """Return the names of the columns that depend on its levels."""
        return tuple(dict.fromkeys(name for level in self.levels for name in level.traits))

    @property
    def paths(self) -> set[str]:
        """Return the paths of the fields that its levels set."""
        return {path for level in self.levels for path in level.assigns}


def read_factors(vary: Mapping[str, Any], file: str | None = None) -> tuple[Factor, ...]:
    """The factors of a study. Three ways to write one:

    ``path: [levels]`` varies a field; ``name: {set: path, to: [levels]}`` does so under a name of its own;
    ``name: {label: {path: value, ...}, ...}`` sets several fields at once. In place of a list, the levels of
    the first two can come from a source: ``{from: scenarios, family: commons}``.

    >>> [f.name for f in read_factors({"agent.memory": ["window:1"], "who": {"a": {"seats.1.style": "direct"}}})]
    ['memory', 'who']
    """
    factors = []
    used: set[str] = set()
    for key, spec in vary.items():
        where = f"vary.{key}"
        if isinstance(spec, Mapping) and set(spec) == {"set", "to"}:
            factor = _field(key, spec["set"], spec["to"], where, file)
        elif isinstance(spec, Mapping) and not isinstance(spec.get("from"), str):
            factor = _compound(key, spec, where, file)
        else:
            short = key.rpartition(".")[2]
            factor = _field(key if short in used else short, key, spec, where, file)
        if factor.name in used or factor.name in RESERVED:
            raise StudyError(
                "a factor needs a name of its own: write 'name: {set: path, to: [levels]}'",
                file=file, key=where, actual=factor.name,
            )  # fmt: skip
        used.add(factor.name)
        factors.append(factor)
    for factor in factors:
        for trait in factor.traits:
            if trait in used or trait in RESERVED:
                raise StudyError(
                    f"its levels bring a column {trait!r}, which another factor or table has already",
                    file=file, key=f"vary.{factor.name}",
                )  # fmt: skip
        used.update(factor.traits)
    return tuple(factors)


RESERVED = frozenset(
    "run match unit seed generation step round player seat agent kind part target answer action label options "
    "cooperative payoff expected probabilities p_cooperate reading invalid missed complaints score state reason "
    "agent_id agent_memory agent_style role opponents rounds_played cooperation expected_score policies facts "
    "missed_decisions note rationale copied branch counterfactual sample".split()
)
"""Table columns that a factor must not shadow."""


def _field(name: str, path: Any, levels: Any, where: str, file: str | None) -> Factor:
    if not isinstance(path, str):
        raise StudyError("'set' must name a field", file=file, key=where, actual=path)
    if isinstance(levels, Mapping) and isinstance(levels.get("from"), str):
        return Factor(name, tuple(Level(e.label, {path: e.value}, e.traits) for e in _drawn_from(levels, where, file)))
    if not isinstance(levels, list) or not levels:
        raise StudyError("needs a list of at least one level", file=file, key=where, actual=levels)
    for level in levels:
        if isinstance(level, Mapping) and not isinstance(level.get("label", ""), str):
            raise StudyError("must be a text", file=file, key=f"{where}.label", actual=level["label"])
    for label_of in (_label, _full_label):
        labels = list(map(label_of, levels))
        if len(set(map(str, labels))) == len(labels):
            break
    else:
        raise StudyError("names a level twice", file=file, key=where, actual=levels)
    # A level's label is its name in tables and charts, not a parameter of the part.
    values = [{k: v for k, v in one.items() if k != "label"} if isinstance(one, Mapping) else one for one in levels]
    return Factor(name, tuple(Level(label, {path: value}) for label, value in zip(labels, values, strict=True)))


def _drawn_from(spec: Mapping[str, Any], where: str, file: str | None) -> list[Entry]:
    """Return the entries of a named source; a source that reads files looks beside the study file first."""
    source = str(spec["from"])
    params = {key: value for key, value in spec.items() if key != "from"}
    if "beside" in sources.parameters(source):
        if "beside" in params:
            raise StudyError("there is no such key", file=file, key=f"{where}.beside")
        params["beside"] = None if file is None else str(Path(file).parent)
    entries = list(sources.build({"name": source, **params}, key=where, file=file))
    labels = [str(entry.label) for entry in entries]
    if not entries or len(set(labels)) != len(labels):
        raise StudyError(f"source {source} gives no level, or two of one name", file=file, key=where)
    return entries


def _compound(name: str, levels: Mapping[str, Any], where: str, file: str | None) -> Factor:
    if not levels:
        raise StudyError("needs at least one level", file=file, key=where, actual=dict(levels))
    for label, assigns in levels.items():
        if not isinstance(assigns, Mapping):
            raise StudyError(
                "a named level sets fields, for example {agent.style: direct}",
                file=file, key=f"{where}.{label}", actual=assigns,
            )  # fmt: skip
        for path in assigns:
            if not isinstance(path, str):
                raise StudyError("must name a field", file=file, key=f"{where}.{label}", actual=path)
    return Factor(name, tuple(Level(label, dict(assigns)) for label, assigns in levels.items()))


def _label(value: Any) -> Any:
    if isinstance(value, Mapping):
        name = value.get("name")
        return value.get("label") or (readable(name) if isinstance(name, str) else name) or _full_label(value)
    return value if isinstance(value, str | int | float | bool) or value is None else _full_label(value)


def _full_label(value: Any) -> Any:
    if isinstance(value, Mapping) and "name" in value:
        rest = ",".join(f"{k}={v}" for k, v in value.items() if k != "name")
        name = readable(str(value["name"]))
        return name if not rest and name != value["name"] else f"{name}:{rest}"
    plain = isinstance(value, str | int | float | bool)
    return value if plain else orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


MOST_CHECKED = 1_000_000
"""The largest grid that can be filtered: every combination is checked once."""


class Grid:
    """Cells by number, each one level per factor; the last factor varies fastest.

    ``only`` lists partial cells, such as ``{persona: "yes", payoffs: [hidden, visible]}``. A combination is kept
    where all levels that one of them names agree; without ``only`` all are.

    >>> from ostrom.studies.factors import Level
    >>> two = (Factor("a", (Level(1, {}), Level(2, {}))), Factor("b", (Level("x", {}), Level("y", {}))))
    >>> [Grid(two, [{"a": 1, "b": "x"}, {"a": 2}]).levels(n) for n in range(3)]
    [(0, 0), (1, 0), (1, 1)]
    """

    def __init__(
        self, factors: Sequence[Factor], only: Sequence[Mapping[str, Any]] = (), file: str | None = None
    ) -> None:
        self.factors = tuple(factors)
        self._sizes = [len(factor.levels) for factor in factors]
        total = prod(self._sizes)
        self._chosen: Sequence[int] = range(total)
        if not only:
            return
        if total > MOST_CHECKED:
            raise StudyError(
                f"keeps part of {total} combinations (at most {MOST_CHECKED} can be looked through)",
                file=file, key="only",
            )  # fmt: skip
        rules = [self._rule(entry, f"only.{place}", file) for place, entry in enumerate(only)]
        self._chosen = [
            number
            for number, levels in enumerate(product(*(range(size) for size in self._sizes)))
            if any(all(levels[place] in allowed for place, allowed in rule) for rule in rules)
        ]
        if not self._chosen:
            raise StudyError("keeps no combination of levels", file=file, key="only")

    def __len__(self) -> int:
        return len(self._chosen)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        if isinstance(self._chosen, range):
            return product(*(range(size) for size in self._sizes))
        return (self.levels(number) for number in range(len(self)))

    def levels(self, number: int) -> tuple[int, ...]:
        """The index of every factor's level in the cell with this number."""
        place, levels = self._chosen[number], []
        for size in reversed(self._sizes):
            place, level = divmod(place, size)
            levels.append(level)
        return tuple(levels[::-1])

    def covering_cells(self) -> Iterator[int]:
        """Yield numbers of cells that together contain every level of the grid."""
        met: set[tuple[int, int]] = set()
        if isinstance(self._chosen, range):
            stride = 1
            for size in reversed(self._sizes):
                yield from range(0, size * stride, stride)
                stride *= size
            return
        for number, levels in enumerate(self):
            new = set(enumerate(levels)) - met
            if new:
                met |= new
                yield number

    def _rule(self, entry: Mapping[str, Any], where: str, file: str | None) -> list[tuple[int, set[int]]]:
        """Return a partial cell as pairs: the index of a factor, and the indices of its allowed levels."""
        names = [factor.name for factor in self.factors]
        rule = []
        for name, wanted in entry.items():
            if name not in names:
                raise StudyError(unknown_key(name, names, "the factors"), file=file, key=where, allowed=names)
            place, chosen = names.index(name), wanted if isinstance(wanted, list) else [wanted]
            labels = [str(level.label) for level in self.factors[place].levels]
            for label in chosen:
                if str(label) not in labels:
                    raise StudyError(
                        "is no level of the factor", file=file, key=f"{where}.{name}", actual=label, allowed=labels
                    )
            rule.append((place, {labels.index(str(label)) for label in chosen}))
        return rule


def set_path(data: dict[str, Any], path: str, value: Any) -> None:
    """Set a field by its path, creating mappings on the way; a bare name on the way becomes a mapping.

    >>> d = {"mechanism": "repetition"}
    >>> set_path(d, "mechanism.rounds", 5); d
    {'mechanism': {'name': 'repetition', 'rounds': 5}}
    """
    *way, last = path.split(".")
    if len(way) > DEEPEST:
        raise StudyError(f"names more than {DEEPEST} levels of keys", key=f"{path[:37]}...")
    here: Any = data
    for step in way:
        key: Any = step if step in here else _key(step)
        inner = here.get(key)
        if not isinstance(inner, dict | None) and (not isinstance(inner, str) or ":" in inner):
            raise StudyError("cannot be given fields", key=".".join(way), actual=inner)
        here[key] = {"name": inner} if isinstance(inner, str) else {} if inner is None else inner
        here = here[key]
    here[_key(last)] = deepcopy(value)


def _key(step: str) -> str | int:
    """Return a part of a path as a key: seats and places are numbers."""
    return int(step) if step.isascii() and step.isdigit() and len(step) < 19 else step


def overlap(one: str, two: str) -> bool:
    """Return whether two paths are equal, or one contains the other."""
    return f"{one}.".startswith(f"{two}.") or f"{two}.".startswith(f"{one}.")


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two mappings recursively; the second wins.

    A part given anew with another name replaces the old one whole: its parameters are not inherited.

    >>> merge({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}})
    {'a': {'x': 1, 'y': 3}}
    """
    result = dict(base)
    for key, value in over.items():
        old: Any = result.get(key)
        result[key] = merge(old, value) if _same_part(old, value) else deepcopy(value)
    return result


def _same_part(old: Any, new: Any) -> bool:
    both = isinstance(old, Mapping) and isinstance(new, Mapping)
    return both and new.get("name", old.get("name")) == old.get("name")


WAYS = ("model", "strategy", "person", "mcp", "recorded")
"""The keys by which an agent can decide; it has exactly one."""


def on_top(agent: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return an agent's fields overridden by those of a type or seat; a new way to decide replaces the old one.

    >>> on_top({"model": "a/b", "style": "direct"}, {"strategy": "grim"})
    {'style': 'direct', 'strategy': 'grim'}
    """
    decides = any(over.get(way) for way in WAYS)
    return merge({name: value for name, value in agent.items() if not (decides and name in (*WAYS, "called"))}, over)


LONGEST_NAME = 60
"""The longest description of a seat's changes in a player's name, in characters."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One resolved combination of levels."""

    labels: Mapping[str, Any]
    game: Game
    mechanism: Mechanism
    types: Mapping[str, AgentConfig]
    seats: Mapping[int, Mapping[str, Any]]
    seatings: tuple[tuple[Seated, ...], ...]
    preparations: tuple[tuple[str, int], ...] = ()
    """Type and seat of every player with a preparation before the matches."""
    traits: Mapping[str, Any] = field(default_factory=dict)
    """Columns that depend on the levels; they do not identify a unit."""
    names: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """By type and seat (from 0): the names of players whose seat changes their configuration."""

    @property
    def columns(self) -> Mapping[str, Any]:
        """Return the cell's columns in tables."""
        return {**self.labels, **self.traits} if self.traits else self.labels

    @property
    def size(self) -> int:
        """Return the number of units of the cell per replicate."""
        return len(self.preparations) + len(self.seatings) * self.mechanism.generations

    def places(self, generation: int) -> range:
        """Return the units of a generation; preparations belong to the first one."""
        start = len(self.preparations) + generation * len(self.seatings)
        return range(start if generation else 0, min(start + len(self.seatings), self.size))

    def seating(self, place: int) -> tuple[tuple[Seated, ...], int]:
        """Return the players and the generation of the unit at a place after the preparations."""
        generation, which = divmod(place - len(self.preparations), len(self.seatings))
        return self.seatings[which], generation


def type_spec(spec: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """A type written as one word is a model if it has a slash, else a strategy.

    >>> type_spec("grim"), type_spec("openai/gpt-4o")
    ({'strategy': 'grim'}, {'model': 'openai/gpt-4o'})
    """
    return {"model" if "/" in spec else "strategy": spec} if isinstance(spec, str) else spec


@contextmanager
def error_at(where: str, spec: Mapping[str, Any] | str) -> Iterator[None]:
    """Add a type's or a seat's key to errors about its fields."""
    try:
        yield
    except (StudyError, UnknownName) as error:
        if error.key == "agent":
            raise error.moved(where) from None
        path = (error.key or "").removeprefix("agent.")
        if path == error.key or path.partition(".")[0] not in type_spec(spec):
            raise
        raise error.moved(where if isinstance(spec, str) else f"{where}.{path}") from None


def society_of(mechanism: Mechanism, game: Game, names: Sequence[str], file: str) -> tuple[str, ...]:
    """Return the type of every member of a society; refused if the rules do not allow so many."""
    try:
        table = tuple(mechanism.population(names, game.seats))
        mechanism.for_players(len(table) + mechanism.observers).check(game)
    except StudyError as error:
        error.file = file
        raise
    except GameError as error:
        raise StudyError(str(error), file=file, key="mechanism") from None
    return table


def agent_names(
    types: Mapping[str, AgentConfig], players: Mapping[tuple[str, int], AgentConfig]
) -> dict[tuple[str, int], str]:
    """Return names by type and seat for players whose seat changes their configuration.

    One that plays like a type has its name. One that decides in another way is called by it, unless somebody who plays
    otherwise has that name. Who plays alike has one name, who plays otherwise another.

    >>> types = {"half": AgentConfig(strategy="random:0.5")}
    >>> agent_names(types, {("half", 0): types["half"], ("half", 1): AgentConfig(strategy="grim")})
    {('half', 1): 'grim'}
    >>> agent_names(types, {("half", 1): AgentConfig(strategy="random:0.5", memory={"name": "window", "k": 2})})
    {('half', 1): 'half (memory=window:k=2)'}
    """
    changed = {place: config for place, config in players.items() if config.conduct != types[place[0]].conduct}
    called = {name: {config.conduct} for name, config in types.items()}
    names = {config.conduct: name for name, config in reversed(list(types.items()))}
    for (name, _), config in changed.items():
        if config.label != types[name].label and config.conduct not in names:
            called.setdefault(config.label, set()).add(config.conduct)
    for (name, _), config in changed.items():
        if config.conduct in names:
            continue
        own = config.label
        if own == types[name].label or len(called[own]) > 1:
            own = f"{name} ({_differences(types[name], config)})"
        clash = own in names.values() or (own in called and called[own] != {config.conduct})
        names[config.conduct] = f"{own} {config.identity}" if clash else own
    return {place: names[config.conduct] for place, config in changed.items()}


def _differences(old: AgentConfig, new: AgentConfig) -> str:
    """Describe how an agent differs from its type in one line; a long one is cut and gets a hash."""
    parts = []
    for name in ("strategy", "memory") if new.strategy is not None else type(new).model_fields:
        before, after = getattr(old, name), getattr(new, name)
        if before == after or name == "attributes" or (name in WAYS and not after):
            continue
        if isinstance(after, BaseModel):
            before, after = before.model_dump(), after.model_dump()
        if isinstance(after, Mapping) and "name" not in after:
            keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
            parts += [f"{name}.{key}={_one_line(after.get(key))}" for key in keys]
        else:
            parts.append(f"{name}={_one_line(after)}")
    text = ", ".join(parts)
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}… {new.identity}"


def _one_line(value: Any) -> str:
    if isinstance(value, Mapping) and "name" in value:
        value = write_spec(value)
    return " ".join(str("none" if value is None else value).split())


def watching_types(
    types: Sequence[str], scripts: Collection[str], selection: str | Sequence[str], file: str
) -> list[str]:
    """Return the types that serve as observers, if a mechanism needs any.

    >>> watching_types(["gpt", "grim"], {"grim"}, "models", "s.yaml")
    ['gpt']
    """
    if selection in ("all", "models"):
        return [name for name in types if selection == "all" or name not in scripts] or list(types)
    names = [selection] if isinstance(selection, str) else list(selection)
    for name in names:
        if name not in types:
            raise StudyError(
                "names no type of the study", file=file, key="observers", actual=name, allowed=["models", "all", *types]
            )
    return names


def clients_of(configs: Iterable[AgentConfig]) -> dict[str, dict[str, Any]]:
    """Return the settings of every client by name; agents of one model must agree in shared settings."""
    clients: dict[str, dict[str, Any]] = {}
    common: dict[str, dict[str, Any]] = {}
    for config in configs:
        if config.model is not None and config.client is not None and config.tree is None:
            shared = common_settings(config.model, config.settings)
            if common.setdefault(config.model, shared) != shared:
                raise StudyError(f"model {config.model} is given two different settings", key="agent.settings")
            clients.setdefault(config.client, config.settings)
    return clients


def canonical(data: Any) -> str:
    """Plain data as JSON with sorted keys: the same data gives the same text."""
    return orjson.dumps(data, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()


def unit_key(labels: Mapping[str, Any], who: Sequence[Any]) -> str:
    """Return the identity of a unit within a study, independent of its number."""
    return canonical([dict(labels), who])
