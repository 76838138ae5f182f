"""Parts named in one line (``name:values,key=value``) with values that nobody meant."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from random import Random
from typing import Any

from chaos.fuzzing import mutate
from chaos.fuzzing.watch import Target
from ostrom.agents.strategies import strategies
from ostrom.games import build_game, games
from ostrom.ground.errors import StudyError
from ostrom.ground.registry import Registry
from ostrom.ground.yaml import check_plain
from ostrom.mechanisms import mechanisms
from ostrom.memory import memories

with suppress(ImportError):  # where it is installed, loading it takes longer than an input may
    import_module("axelrod")


def _is_plain(value: Any) -> bool:
    try:
        check_plain(value)
    except StudyError:
        return False
    return True


PLAIN = tuple(filter(_is_plain, mutate.VALUES))
"""What a study file can hold: everything else is refused before a part is built."""


def spec(registry: Registry[Any]) -> Callable[[Random], Any]:
    """Draws specifications of the parts of one kind, as text or as a mapping."""

    def draw(rng: Random) -> Any:
        name = rng.choice(registry.names())
        known = [p for p in registry.parameters(name) if p not in ("args", "kwargs")]
        chosen = rng.sample(known, min(len(known), rng.randrange(3)))
        if rng.random() < 0.5:
            return {"name": name, **{key: rng.choice(PLAIN) for key in chosen}}
        values = ("0", "1", "2", "3", "-1", "0.5", "true", "null", "x", "", *mutate.NUMBERS)
        pieces = [rng.choice(values) for _ in range(rng.randrange(2))]
        pieces += [f"{key}={rng.choice(values)}" for key in chosen]
        whole = f"{name}:{','.join(pieces)}"
        return mutate.text(rng, [whole]) if rng.random() < 0.2 else whole

    return draw


TARGETS = (
    Target("spec: game", 20_000, spec(games), build_game),
    Target("spec: strategy", 30_000, spec(strategies), strategies.build),
    Target("spec: mechanism", 15_000, spec(mechanisms), mechanisms.build),
    Target("spec: memory", 15_000, spec(memories), memories.build),
)
