"""Checks of the parameters that people give to memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostrom.games.game import Game


def whole(label: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number within bounds.

    >>> whole("keep", 3, least=0)
    3
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{label} must be a whole number of at least {least}, found {value!r}")
    if most is not None and value > most:
        raise ValueError(f"{label} must be at most {most}, found {value!r}")
    return value


def limit(label: str, value: Any) -> int | None:
    """A whole number of at least 1, or None for no limit."""
    return None if value is None else whole(label, value, least=1)


def chance(label: str, value: Any) -> float:
    """A number from 0 to 1."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ValueError(f"{label} must lie between 0 and 1, found {value!r}")
    return float(value)


def one_of(label: str, value: Any, allowed: Sequence[str]) -> str:
    """One of a few words."""
    if value not in allowed:
        raise ValueError(f"{label} must be {' or '.join(allowed)}, found {value!r}")
    return str(value)


def no_cooperation(game: Game) -> str | None:
    """The complaint of a memory that speaks of cooperation about a game that does not."""
    if None in game.cooperative:
        return f"game {game.name} does not define a cooperative action for every seat"
    return None
