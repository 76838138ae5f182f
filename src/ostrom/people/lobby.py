"""Where somebody is put: into the cell with the fewest people, and in the lobby beside others of that cell.

A share of assignments is drawn at random. *Completed + under way* counts, so that cells stay balanced when more people
leave some conditions than others. People who play with each other meet in the lobby for a bounded time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

Seat: TypeAlias = tuple[int, int, dict[int, str]]
"""The number of a match, the player in it, and which agents stand in for missing people."""


@dataclass(slots=True, eq=False)
class Waiting:
    """Somebody who waits for partners; ``index`` is the number of the match if this one opens the table."""

    index: int
    seat: asyncio.Future[Seat | None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Lobby:
    """Groups people of one cell for one match of their visits; whoever came first opens the table."""

    def __init__(self) -> None:
        self._rooms: dict[tuple[int, int], list[Waiting]] = {}
        self.torn: dict[tuple[int, int], list[tuple[int, int]]] = {}
        """Seats, by cell and match, at tables whose group was torn apart by a restart while it sat down."""

    def __len__(self) -> int:
        return sum(len(room) for room in self._rooms.values())

    async def seat(
        self, cell: int, match: int, index: int, persons: tuple[int, ...], wait: float, stand_in: str | None
    ) -> Seat | None:
        """A seat at a table with all its people; None: nobody came in time."""
        if len(persons) == 1:
            return index, persons[0], {}
        if torn := self.torn.get((cell, match)):
            return *torn.pop(0), {}
        room = self._rooms.setdefault((cell, match), [])
        own = Waiting(index)
        room.append(own)
        if len(room) >= len(persons):
            self._sit_down(room, persons, {})
        timer = asyncio.get_running_loop().call_later(wait, self._give_up, room, own, persons, stand_in)
        try:
            return await own.seat
        finally:
            timer.cancel()
            if own in room:
                room.remove(own)

    def leave(self, index: int) -> None:
        """Whoever would open that table waits no more."""
        for room in self._rooms.values():
            for one in room:
                if one.index == index and not one.seat.done():
                    one.seat.set_result(None)

    @staticmethod
    def _sit_down(room: list[Waiting], persons: tuple[int, ...], stand_ins: dict[int, str]) -> None:
        group, room[:] = room[: len(persons)], room[len(persons) :]
        for player, one in zip(persons, group, strict=False):
            one.seat.set_result((group[0].index, player, stand_ins))

    def _give_up(
        self, room: list[Waiting], own: Waiting, persons: tuple[int, ...], stand_in: str | None
    ) -> None:
        """The time is over: those who wait sit down with agents in the empty seats, or this one waits no more."""
        if own.seat.done():
            return
        if stand_in is None:
            own.seat.set_result(None)
        else:
            self._sit_down(room, persons, dict.fromkeys(persons[len(room) :], stand_in))


def choose_cell(
    occupied: Sequence[int], quota: int, rule: str, coin: float, rng: np.random.Generator
) -> int | None:
    """The cell of the next person, or None where every cell has all its people.

    >>> choose_cell([3, 2, 5], 5, "least_filled", 0.0, np.random.default_rng(0))
    1
    >>> choose_cell([5, 5], 5, "least_filled", 0.2, np.random.default_rng(0)) is None
    True
    """
    free = [cell for cell, count in enumerate(occupied) if count < quota]
    if not free:
        return None
    at_random = rng.random() < coin
    if rule == "least_filled" and not at_random:
        fewest = min(occupied[cell] for cell in free)
        free = [cell for cell in free if occupied[cell] == fewest]
    return free[int(rng.integers(len(free)))]
