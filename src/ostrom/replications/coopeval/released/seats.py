"""Which listed player of a foreign profile sits on which seat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ostrom.ground.errors import StudyError, UsageError

Seats = Literal["auto", "player_id", "listed"]


def seat_orders(ids: Sequence[Sequence[object]], source: str, seats: Seats = "auto") -> list[list[int]]:
    """For each profile (given by its ``player_id`` values) the listed place of the player on every seat.

    The decision is made for the whole file, never per profile: numbers that happen to be 1..n in one profile
    may name players across the tournament, which the other profiles show.

    >>> seat_orders([[1, 2], [2, 1]], "f.json")
    [[0, 1], [1, 0]]
    >>> seat_orders([[2, 1], [3, 1]], "f.json")
    [[0, 1], [0, 1]]
    """
    if seats not in ("auto", "player_id", "listed"):
        raise UsageError(f"unknown seat order {seats!r} (allowed: auto, player_id, listed)")
    for number, row in enumerate(ids):
        if len({i is None for i in row}) > 1:
            key = f"profile[{number}].players"
            raise StudyError("only some players have a player_id", file=source, key=key, found=list(row))
    listed = [list(range(len(row))) for row in ids]
    if seats == "listed":
        return listed
    for first in (1, 0):
        orders = [_order(row, first) for row in ids]
        known = [order for order in orders if order is not None]
        if len(known) == len(orders):
            return known
    if seats == "player_id":
        number = next(n for n, row in enumerate(ids) if _order(row, 1) is None)
        key, found = f"profile[{number}].players", list(ids[number])
        raise StudyError("player_id must number the seats 1..n, each once", file=source, key=key, found=found)
    return listed


def _order(row: Sequence[object], first: int) -> list[int] | None:
    """Places in the order of seat numbers that start at ``first``, or None where they are no seat numbers."""
    numbers = [i for i in row if isinstance(i, int) and not isinstance(i, bool)]
    if len(numbers) != len(row) or sorted(numbers) != list(range(first, first + len(row))):
        return None
    return sorted(range(len(numbers)), key=numbers.__getitem__)
