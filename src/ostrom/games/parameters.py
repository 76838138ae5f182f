"""Parameters of games arrive from files and command lines: read them strictly, complain in one line."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from numbers import Integral, Real
from typing import Any

from ostrom.ground.errors import GameError


def number(game: str, name: str, value: Any) -> float:
    """A finite number.

    >>> number("chicken", "win", 3)
    3.0
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(as_float := _float(value)):
        raise GameError(f"game {game}: {name} must be a finite number (found {value!r})")
    return as_float


def whole(game: str, name: str, value: Any, *, least: int, most: int) -> int:
    """A whole number between two bounds; 3.0 counts as 3."""
    is_whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not is_whole or not least <= value <= most:
        raise GameError(
            f"game {game}: {name} must be a whole number from {least} to {most} (found {value!r})"
        )
    return int(value)


def pair(game: str, name: str, value: Any) -> tuple[float, float]:
    """Two numbers, what seat 1 and seat 2 are paid."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise GameError(f"game {game}: {name} must be two numbers, seat 1 and seat 2 (found {value!r})")
    return number(game, name, value[0]), number(game, name, value[1])


def switch(game: str, name: str, value: Any) -> bool:
    """True or false and nothing else: a "no" in quotes must not count as yes."""
    if not isinstance(value, bool):
        raise GameError(f"game {game}: {name} must be true or false (found {value!r})")
    return value


def require(game: str, holds: bool, rule: str, found: str) -> None:
    """Refuse parameters that make another game of it."""
    if not holds:
        raise GameError(f"game {game}: {rule} (found {found}); strict=False lifts this rule")


def shown(value: float) -> str:
    """A payoff as people write it: exact, without a needless point and zero.

    >>> shown(200.0), shown(1.5), shown(-0.0)
    ('200', '1.5', '0')
    """
    if value == 0:
        return "0"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")
