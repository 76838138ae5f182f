"""Where in a study file an agent's fields stand: below 'agent', in a type, or at a seat."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ostrom.games.game import Game
from ostrom.ground.errors import GameError, StudyError, UnknownName
from ostrom.mechanisms import Mechanism


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
