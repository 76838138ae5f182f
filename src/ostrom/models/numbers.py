"""Client settings that must be numbers of a certain kind, checked once when a model is opened."""

from __future__ import annotations

from ostrom.ground.errors import StudyError


def at_least_one(value: object, key: str) -> int:
    """A whole number of at least 1.

    >>> at_least_one(16, "connections")
    16
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise StudyError("must be a whole number of at least 1", key=key, found=value)
    return value


MOST_TOKENS = 1_000_000_000
"""No call takes more; the sum over a run stays far below what a journal can add up."""


def token_count(value: object) -> int | None:
    """A number of tokens as a server reports it; None where what it says cannot be one.

    >>> [token_count(v) for v in (12, 0, -1, 2**62, 3.0, True, "7", None)]
    [12, 0, None, None, None, None, None, None]
    """
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def positive(value: object, key: str) -> float:
    """A number above 0.

    >>> positive(30, "timeout")
    30.0
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise StudyError("must be a number above 0", key=key, found=value)
    return float(value)
