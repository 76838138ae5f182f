"""Parameters of mechanisms, checked where they are given."""

from __future__ import annotations

from math import isfinite
from typing import Any


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number within bounds.

    >>> whole("rounds", 0, 1)
    Traceback (most recent call last):
    ValueError: rounds must be a whole number of at least 1, found 0
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, found {value!r}")
    if most is not None and value > most:
        raise ValueError(f"{name} must be at most {most}, found {value!r}")
    return value


def amount(name: str, value: Any) -> float:
    """A finite number of at least 0."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value) or value < 0:
        raise ValueError(f"{name} must be a number of at least 0, found {value!r}")
    return float(value)


def share(name: str, value: Any, *, above: bool = False) -> float:
    """A number from 0 to 1; ``above`` leaves out 0."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    if not fits or (above and value == 0):
        raise ValueError(
            f"{name} must lie {'above 0 and at most 1' if above else 'between 0 and 1'}, found {value!r}"
        )
    return float(value)
