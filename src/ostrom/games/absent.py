"""What stands in place of a game whose package is not installed, so that the rows of its run can be read.

The manifest of a run keeps the shape of every game that another package adds: its seats, roles and actions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from ostrom.games.amounts import Amounts
from ostrom.games.function import FunctionGame, at_once
from ostrom.games.game import Game
from ostrom.ground.errors import GameError, StudyError

SHAPES: dict[str, list[Mapping[str, Any]]] = {}
"""The shapes of games, by name, that runs opened in this process keep."""
_SAME = ("name", "cooperative", "defective", "roles", "title", "citation")


def shape_of(game: Game) -> dict[str, Any]:
    """A game as a manifest keeps it: all but its payoffs and its rule."""
    actions = [
        {name: getattr(one, name) for name in ("low", "high", "step", "few", "also")}
        if isinstance(one, Amounts)
        else list(one)
        for one in game.actions
    ]
    kept = {name: getattr(game, name) for name in _SAME}
    return {
        **{name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()},
        "params": dict(game.params),
        "actions": actions,
        "stages": None if game.has_table else list(game.stages),
        "stateful": game.stateful,
    }


def keep_shapes(shapes: Sequence[Mapping[str, Any]]) -> None:
    """Take in what a manifest keeps."""
    for shape in shapes:
        known = SHAPES.setdefault(shape["name"], [])
        if shape not in known:
            known.append(shape)


def from_code(name: str, part: Any) -> Callable[..., Game]:
    """A game of Python code: a function that makes one."""
    if not callable(part):
        raise StudyError(f"game {name}: must be a function that makes one")
    factory: Callable[..., Game] = part
    return factory


def absent(name: str) -> Callable[..., Game] | None:
    """The factory of what stands in place of a game, where some run keeps its shape."""
    return (lambda **params: _restored(name, params)) if name in SHAPES else None


class AbsentGame(FunctionGame):
    """A game of which a run keeps the shape alone. Whoever asks for its payoffs is refused; its rounds pay nothing, so
    that the agents of a study can be tried on it, and no match of it is replayed (``Rows``).
    """

    absent = True

    def _refuse(self) -> NoReturn:
        raise GameError(f"game {self.name}: its package is not installed, which its payoffs need")


def _restored(name: str, params: Mapping[str, Any]) -> Game:
    shape = next(
        (one for one in SHAPES[name] if all(one["params"].get(key) == value for key, value in params.items())),
        SHAPES[name][0],
    )
    same: dict[str, Any] = {key: tuple(value) if isinstance(value := shape[key], list) else value for key in _SAME}
    actions = tuple(Amounts(**one) if isinstance(one, dict) else tuple(one) for one in shape["actions"])
    stages = tuple(shape["stages"] or ("act",))
    play = at_once(stages[0], actions, lambda _: (0.0,) * len(actions))
    game = AbsentGame(
        actions=actions, play=play, stages=stages, stateful=shape["stateful"], params=shape["params"], **same
    )
    object.__setattr__(game, "has_table", shape["stages"] is None)
    return game
