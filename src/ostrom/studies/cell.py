"""One combination of levels, resolved: what is played in it, by whom, in how many units of work."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from ostrom.agents.config import AgentConfig
from ostrom.engine.plan import Seated
from ostrom.games.game import Game
from ostrom.ground.errors import GameError, StudyError, UnknownName
from ostrom.ground.registry import write_spec
from ostrom.mechanisms import Mechanism
from ostrom.models import common_settings
from ostrom.studies.factors import WAYS

LONGEST_NAME = 60
"""So many characters of what is different at a seat are in the name of its player."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of levels, resolved."""

    labels: Mapping[str, Any]
    game: Game
    mechanism: Mechanism
    types: Mapping[str, AgentConfig]
    seats: Mapping[int, Mapping[str, Any]]
    seatings: tuple[tuple[Seated, ...], ...]
    preparations: tuple[tuple[str, int], ...] = ()
    """Type and seat of every player that has to prepare something before the matches."""
    traits: Mapping[str, Any] = field(default_factory=dict)
    """Columns that follow from the levels; they are no part of what identifies a unit."""
    names: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """By type and seat (from 0): the names of players whose seat changes how they play."""

    @property
    def columns(self) -> Mapping[str, Any]:
        """What tables say about the cell."""
        return {**self.labels, **self.traits} if self.traits else self.labels

    @property
    def size(self) -> int:
        """How many units the cell has per replicate."""
        return len(self.preparations) + len(self.seatings) * self.mechanism.generations

    def places(self, generation: int) -> range:
        """The units of a generation; preparations belong to the first one."""
        start = len(self.preparations) + generation * len(self.seatings)
        end = min(start + len(self.seatings), self.size)
        return range(start if generation else 0, end)

    def seating(self, place: int) -> tuple[tuple[Seated, ...], int]:
        """Who plays in the unit at a place behind the preparations, and in which generation."""
        generation, which = divmod(place - len(self.preparations), len(self.seatings))
        return self.seatings[which], generation


def spelled_out(spec: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """A type written as one word is a model if it has a slash, else a strategy.

    >>> spelled_out("grim"), spelled_out("openai/gpt-4o")
    ({'strategy': 'grim'}, {'model': 'openai/gpt-4o'})
    """
    if isinstance(spec, str):
        return {"model": spec} if "/" in spec else {"strategy": spec}
    return spec


@contextmanager
def placed(where: str, spec: Mapping[str, Any] | str) -> Iterator[None]:
    """Name a type's or a seat's key in a complaint about a field that stands there."""
    try:
        yield
    except (StudyError, UnknownName) as error:
        if error.key == "agent":
            raise error.moved(where) from None
        path = (error.key or "").removeprefix("agent.")
        if path == error.key or path.partition(".")[0] not in spelled_out(spec):
            raise
        raise error.moved(where if isinstance(spec, str) else f"{where}.{path}") from None


def society_of(mechanism: Mechanism, game: Game, names: Sequence[str], file: str) -> tuple[str, ...]:
    """The type of every member of a society; refused where the rules have no place for so many."""
    try:
        table = tuple(mechanism.population(names, game.seats))
        mechanism.sized(len(table) + mechanism.observers).check(game)
    except StudyError as error:
        error.file = file
        raise
    except GameError as error:
        raise StudyError(str(error), file=file, key="mechanism") from None
    return table


def agent_names(
    types: Mapping[str, AgentConfig], players: Mapping[tuple[str, int], AgentConfig]
) -> dict[tuple[str, int], str]:
    """Names for the players, by type and seat, whom their seat makes play otherwise than their type.

    One that plays like a type has its name. One that decides in another way is called by it, unless somebody who plays
    otherwise has that name. Who plays alike has one name, who plays otherwise another.

    >>> types = {"half": AgentConfig(strategy="random:0.5")}
    >>> agent_names(types, {("half", 0): types["half"], ("half", 1): AgentConfig(strategy="grim")})
    {('half', 1): 'grim'}
    >>> agent_names(types, {("half", 1): AgentConfig(strategy="random:0.5", memory={"name": "window", "k": 2})})
    {('half', 1): 'half (memory=window:k=2)'}
    """
    changed = {
        place: config for place, config in players.items() if config.conduct != types[place[0]].conduct
    }
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
        taken = own in names.values() or (own in called and called[own] != {config.conduct})
        names[config.conduct] = f"{own} {config.identity}" if taken else own
    return {place: names[config.conduct] for place, config in changed.items()}


def _differences(old: AgentConfig, new: AgentConfig) -> str:
    """How an agent differs from its type, in one line; a long one is cut, and told apart by its identity."""
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
    types: Sequence[str], scripts: Collection[str], given: str | Sequence[str], file: str
) -> list[str]:
    """The types that watch where a mechanism asks for observers.

    >>> watching_types(["gpt", "grim"], {"grim"}, "models", "s.yaml")
    ['gpt']
    """
    if given == "all":
        return list(types)
    if given == "models":
        return [name for name in types if name not in scripts] or list(types)
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in types:
            allowed = ["models", "all", *types]
            raise StudyError(
                "names no type of the study", file=file, key="observers", found=name, allowed=allowed
            )
    return names


def clients_of(configs: Iterable[AgentConfig]) -> dict[str, dict[str, Any]]:
    """The settings of every client by its name; agents of one model must agree in what its variants share."""
    found: dict[str, dict[str, Any]] = {}
    common: dict[str, dict[str, Any]] = {}
    for config in configs:
        if config.model is None or config.client is None or config.tree is not None:
            continue
        shared = common_settings(config.model, config.settings)
        if common.setdefault(config.model, shared) != shared:
            raise StudyError(f"model {config.model} is given two different settings", key="agent.settings")
        found.setdefault(config.client, config.settings)
    return found
