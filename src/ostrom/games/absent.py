"""A placeholder for a game whose package is not installed, to read the rows of its run.

The manifest of a run keeps the shape of every game that another package adds: its seats, roles and actions.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

from pydantic import BaseModel

from ostrom.games.amounts import Amounts
from ostrom.games.function import FunctionGame, at_once
from ostrom.games.game import Game
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.python_files import is_code
from ostrom.ground.registry import parse_spec


class AmountsShape(BaseModel, extra="forbid", strict=True):
    """The amounts that a seat may choose."""

    low: float
    high: float
    step: float
    few: list[float]
    also: list[str]


class GameShape(BaseModel, extra="forbid", strict=True):
    """The stored shape of a game."""

    known_as: str = ""
    """The name by which studies refer to the game."""
    name: str
    cooperative: list[int | None]
    defective: list[int | None]
    roles: list[str]
    title: str
    citation: str
    params: dict[str, Any]
    actions: list[AmountsShape | list[str]]
    stages: list[str] | None
    stateful: bool
    best_total: float | None = None


SHAPES: dict[str, list[GameShape]] = {}
"""The shapes of games, by name, in the manifests opened by this process."""


def shapes(spec: str | Mapping[str, Any], game: Game) -> dict[str, dict[str, Any]]:
    """Return the shape of a game of another package, by its specification; empty for games of Ostrom itself."""
    name = spec.get("name") if isinstance(spec, Mapping) else parse_spec(spec)[0]
    foreign = isinstance(name, str) and (import_module("ostrom.games").games.is_foreign(name) or is_code(name))
    return {repr(spec): shape_of(str(name), game)} if foreign else {}


def shape_of(known_as: str, game: Game) -> dict[str, Any]:
    """Return the shape of a game for a manifest: everything but payoffs and rule."""
    actions: list[AmountsShape | list[str]] = [
        AmountsShape(low=one.low, high=one.high, step=one.step, few=list(one.few), also=list(one.also))
        if isinstance(one, Amounts)
        else list(one)
        for one in game.actions
    ]
    return GameShape(
        known_as=known_as, name=game.name, params=dict(game.params), actions=actions,
        cooperative=list(game.cooperative), defective=list(game.defective), roles=list(game.roles),
        title=game.title, citation=game.citation, stages=None if game.has_table else list(game.stages),
        stateful=game.stateful, best_total=game.best_total,
    ).model_dump()  # fmt: skip


def keep_shapes(shapes: Sequence[Mapping[str, Any]]) -> None:
    """Register the shapes in a manifest."""
    for shape in map(GameShape.model_validate, shapes):
        variants = SHAPES.setdefault(shape.known_as or shape.name, [])
        if shape not in variants:
            variants.append(shape)


def from_code(name: str, part: Any) -> Callable[..., Game]:
    """Return the function that builds a game, as found in a Python file; refuse what is not callable."""
    if not callable(part):
        raise StudyError(f"game {name}: must be a function that makes one")
    factory: Callable[..., Game] = part
    return factory


def absent(name: str) -> Callable[..., Game] | None:
    """Return the factory of the placeholder, if a run stores the game's shape."""
    return (lambda **params: _restored(name, params)) if name in SHAPES else None


class AbsentGame(FunctionGame):
    """A game of which a run stores only the shape. Its payoff table is refused, and its rounds pay nothing, so that
    agents can be tried on it; matches of it are not replayed (``Rows``).
    """

    absent = True

    def _refuse(self) -> NoReturn:
        raise GameError(f"game {self.name}: its package is not installed, which its payoffs need")


def _restored(name: str, params: Mapping[str, Any]) -> Game:
    shape = next(
        (one for one in SHAPES[name] if all(one.params.get(key) == value for key, value in params.items())),
        SHAPES[name][0],
    )
    actions = tuple(tuple(one) if isinstance(one, list) else Amounts(**one.model_dump()) for one in shape.actions)
    stages = tuple(shape.stages or ("act",))
    game = AbsentGame(
        shape.name, actions, at_once(stages[0], actions, lambda _: (0.0,) * len(actions)), stages=stages,
        cooperative=tuple(shape.cooperative), defective=tuple(shape.defective), roles=tuple(shape.roles),
        title=shape.title, citation=shape.citation, stateful=shape.stateful, params=shape.params,
        best_total=shape.best_total,
    )  # fmt: skip
    object.__setattr__(game, "has_table", shape.stages is None)
    return game
