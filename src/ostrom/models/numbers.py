"""Client settings that must be numbers of a certain kind, checked once when a model is opened."""

from __future__ import annotations

from ostrom.errors import StudyError


def at_least_one(value: object, key: str) -> int:
    """A whole number of at least 1.

    >>> at_least_one(16, "connections")
    16
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise StudyError("must be a whole number of at least 1", key=key, found=value)
    return value


def positive(value: object, key: str) -> float:
    """A number above 0.

    >>> positive(30, "timeout")
    30.0
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise StudyError("must be a number above 0", key=key, found=value)
    return float(value)
