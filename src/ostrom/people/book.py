"""Who came, which cell they belong to and which seats they took: what assignment answers add up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class SeatTaken:
    """A seat of a visit in a match."""

    unit: int
    player: int


@dataclass(slots=True)
class Visitor:
    """One visit as far as it has been assigned."""

    code: str
    test: bool = False
    at: float = 0.0
    """When it began, in seconds since 1970."""
    cell: int | None = None
    seats: dict[int, SeatTaken] = field(default_factory=dict)
    """By the number of the match in the visit, from 0."""


@dataclass(slots=True)
class BookedMatch:
    """A match that people have taken seats in."""

    cell: int
    match: int
    """Its number in the visits of its people, from 0."""
    people: dict[int, int] = field(default_factory=dict)
    """Player to visit."""
    stand_ins: dict[int, str] = field(default_factory=dict)
    """Player to type of agent, where people were missing."""


class Book:
    """All visits of a run. Fed by the answers of reading ``assigned``, in any order between visits."""

    def __init__(self) -> None:
        self.visits: dict[int, Visitor] = {}
        self.tables: dict[int, BookedMatch] = {}
        self.codes: dict[str, int] = {}
        self.last = -1

    def learn(self, visit: int, value: Any) -> None:
        """Take in one assignment."""
        if not isinstance(value, Mapping):
            return
        if "code" in value:
            self.visits[visit] = Visitor(str(value["code"]), bool(value["test"]), float(value["at"]))
            self.codes[str(value["code"])] = visit
            self.last = max(self.last, visit)
        known = self.visits.get(visit)
        if known is None:
            return
        if "cell" in value:
            known.cell = int(value["cell"])
        elif "table" in value and known.cell is not None:
            index, player, match = int(value["table"]), int(value["player"]), int(value["match"])
            known.seats[match] = SeatTaken(index, player)
            table = self.tables.setdefault(index, BookedMatch(known.cell, match))
            table.people[player] = visit
            for seat, name in (value.get("stand_ins") or {}).items():
                table.stand_ins[int(seat)] = str(name)
