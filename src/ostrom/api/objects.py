"""Python objects in a study: games, strategies, models and mechanisms in place of names.

A game becomes the payoffs that a study file would hold. Functions and classes are registered in this process under a
name that ends in a hash of their source, so that a run is never resumed with another function of the same name.
"""

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ostrom.agents import function_strategy
from ostrom.agents.strategy import Strategy
from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame
from ostrom.games.yaml_file import game_to_mapping
from ostrom.ground.errors import GameError, StudyError, UsageError
from ostrom.ground.registry import Registry
from ostrom.mechanisms.base import Mechanism
from ostrom.memory import function as function_memory
from ostrom.memory import memories
from ostrom.memory.base import Memory
from ostrom.models.providers import python as python_models


def game(
    payoffs: Any,
    *,
    name: str = "game",
    actions: Sequence[str] | Sequence[Sequence[str]] | None = None,
    cooperative: str | None = None,
    title: str = "",
) -> Game:
    """A game from a NumPy array, a Nashpy game or a pygambit game.

    A square matrix is a symmetric game of two (what the row player gets); two matrices are the payoffs of rows and
    columns; a tensor has one axis per seat and a last one for the seats.

    >>> game([[3, 0], [5, 1]], actions=["stay", "leave"], cooperative="stay").payoff((0, 1))
    (0.0, 5.0)
    """
    tensor, named = _tensor(payoffs)
    seats = tensor.shape[-1]
    own_names = [list(names) for names in named or ()] if actions is None else _by_seat(actions, seats)
    names = own_names or [[f"a{i}" for i in range(count)] for count in tensor.shape[:-1]]
    for seat, seat_actions in enumerate(names, 1) if cooperative is not None else ():
        if cooperative not in seat_actions:
            raise UsageError(f"cooperative {cooperative!r}: seat {seat} has the actions {', '.join(seat_actions)}")
    good = [None if cooperative is None else seat_actions.index(cooperative) for seat_actions in names]
    try:
        return TensorGame(name, tuple(map(tuple, names)), tensor, cooperative=tuple(good), title=title)
    except GameError as error:
        raise UsageError(str(error)) from None


def _by_seat(actions: Sequence[Any], seats: int) -> list[list[str]]:
    alike = all(isinstance(name, str) for name in actions)
    return [list(actions)] * seats if alike else [list(names) for names in actions]


def _tensor(payoffs: Any) -> tuple[np.ndarray[Any, Any], Sequence[Sequence[str]] | None]:
    if callable(writes := getattr(payoffs, "to_nfg", None)):  # a pygambit game
        from ostrom.games.nfg import parse_nfg

        read = parse_nfg(str(writes()))
        return np.asarray(read.payoffs), read.actions
    matrices = getattr(payoffs, "payoff_matrices", payoffs if isinstance(payoffs, tuple) else ())  # of a Nashpy game
    if len(matrices) == 2:
        return np.stack([np.asarray(m, dtype=float) for m in matrices], axis=-1), None
    try:
        array = np.asarray(payoffs, dtype=float)
    except (TypeError, ValueError):
        raise UsageError(f"a game is made of payoffs, not of {type(payoffs).__name__}") from None
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        return np.stack([array, array.T], axis=-1), None
    if array.ndim < 2 or array.shape[-1] != array.ndim - 1:
        raise UsageError(
            f"payoffs of shape {array.shape}: a game is a square matrix, two matrices, or a tensor with one axis "
            "per seat and a last one for the seats"
        )
    return array, None


def names_for_objects(value: Any, key: str = "", name: str = "") -> Any:
    """Return a study with names in place of objects; ``name`` is the enclosing type's."""
    if isinstance(value, Mapping):
        above = {"name": key, "to": value.get("set", "to")}  # {name: ..., k: 3} and {set: agent.memory, to: [...]}
        fields = {
            k: names_for_objects(v, str(above.get(k, k)), str(k) if key == "types" else name) for k, v in value.items()
        }
        named = fields.get("name")
        return {**fields, **named} if isinstance(named, dict) and _is_memory(key) else fields
    if isinstance(value, list | tuple):
        return [names_for_objects(v, key, name) for v in value]
    if isinstance(value, Game):
        return game_to_mapping(value) if value.has_table else _rule_game(value)
    if isinstance(value, np.ndarray) or hasattr(value, "payoff_matrices") or hasattr(value, "to_nfg"):
        return game_to_mapping(game(value))
    if isinstance(value, Memory) or _is_class(value, Memory) or (_is_memory(key) and callable(value)):
        return _memory(value)
    if isinstance(value, Mechanism) or _is_class(value, Mechanism):
        return {"name": _mechanism(value)}
    if isinstance(value, Strategy) or _is_class(value, Strategy):
        return {"strategy": _strategy(value, name)} if key != "strategy" else _strategy(value, name)
    if (axelrod := _axelrod(value)) is not None:
        return axelrod
    waits = inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(vars(type(value)).get("__call__"))
    if (key == "model" and callable(value)) or waits or _takes_messages(value):
        return model_name(value, name) if key == "model" else {"model": model_name(value, name)}
    return _strategy(value, name) if callable(value) else value


def model_name(model: Any, name: str = "") -> str:
    """Return a model's name for studies; a function is registered first."""
    if isinstance(model, str):
        return model
    if not callable(model):
        raise UsageError(f"a model is a name or a function, not {type(model).__name__}")
    registered = _name(model, name)
    python_models.register(registered, model)
    return f"python/{registered}"


def _is_memory(key: str) -> bool:
    """Return whether a key of a study is that of a memory, as a field or a factor's path."""
    return key.rpartition(".")[2] == "memory"


def _takes_messages(value: Any) -> bool:
    """Return whether a function's only parameter is named ``messages``."""
    with suppress(TypeError, ValueError):  # some builtins have no signature
        return inspect.isroutine(value) and list(inspect.signature(value).parameters) == ["messages"]
    return False


def _rule_game(value: Game) -> dict[str, Any]:
    """Return a game by a rule for studies: by its builder if that rebuilds it, else in this process only."""
    from ostrom.games import games

    stated = {"name": value.name, **value.params}
    if value.name in games and _code(games.build(stated).play) == _code(value.play):
        return stated
    fingerprint = repr((sorted(value.params.items()), value.actions, value.stages))
    return {"name": _register(games, _name(value.play, value.name, fingerprint), value)}


def _code(play: Callable[..., Any]) -> Any:
    return getattr(play, "__code__", play)


def _is_class(value: Any, kind: type) -> bool:
    return isinstance(value, type) and issubclass(value, kind)


def _axelrod(value: Any) -> str | None:
    """Return the specification of an Axelrod player, given as class or object; None for others."""
    kind = value if isinstance(value, type) else type(value)
    if not any(base.__module__.startswith("axelrod.") and base.__name__ == "Player" for base in kind.__mro__):
        return None
    changed = {} if isinstance(value, type) else dict(getattr(value, "init_kwargs", {}))
    usual = {p.name: p.default for p in inspect.signature(kind).parameters.values()}
    own = [key for key, parameter in changed.items() if usual.get(key, parameter) != parameter]
    if own:
        raise UsageError(f"{kind.__name__}: a player of the Axelrod library is named by its class, without {own[0]}")
    return f"axelrod:{kind.__name__}"


def _strategy(value: Any, name: str) -> str:
    from ostrom.agents.strategies import strategies

    return _register(strategies, _name(value, name), value, function_strategy.from_code)


def _memory(value: Any) -> dict[str, Any]:
    return {"name": _register(memories, _name(value, ""), value, function_memory.from_code)}


def _mechanism(value: Any) -> str:
    from ostrom.mechanisms import mechanisms

    if isinstance(value, type):
        raise UsageError(f"{value.__name__}: give a mechanism as an object, {value.__name__}(...)")
    return _register(mechanisms, _name(value, getattr(value, "name", "")), value)


def _register(
    registry: Registry[Any], name: str, value: Any, from_code: Callable[[str, Any], Callable[..., Any]] | None = None
) -> str:
    """Register an object in this process under a name, which is returned."""
    factory = (lambda: value) if from_code is None else from_code(name, value)
    registry.remove(name)
    try:
        registry.add(name, factory)
    except StudyError as error:
        raise UsageError(str(error)) from None
    return name


def _name(value: Any, name: str, also: str = "") -> str:
    """Return a unique name of an object: its own, and six digits of a hash of its source and ``also``."""
    own = name or getattr(value, "__name__", type(value).__name__)
    kind = value if isinstance(value, type) or inspect.isroutine(value) else type(value)
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):
        code = getattr(kind, "__code__", None)
        source = repr((code.co_code, code.co_consts)) if code is not None else repr(kind)
    state = repr(sorted(vars(value).items())) if kind is not value and hasattr(value, "__dict__") else ""
    digest = hashlib.sha256(f"{source}{'' if ' at 0x' in state else state}{also}".encode()).hexdigest()[:6]
    plain_name = "".join(c if c.isalnum() else "_" for c in own).strip("_") or "function"
    return f"{plain_name}_{digest}"
