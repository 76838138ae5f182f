"""One combination of levels, resolved: what is played in it, by whom, in how many units of work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ostrom.agents.config import AgentConfig
from ostrom.engine.plan import Seated
from ostrom.games.game import Game
from ostrom.mechanisms import Mechanism


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of levels, resolved."""

    labels: Mapping[str, Any]
    game: Game
    mechanism: Mechanism
    types: Mapping[str, AgentConfig]
    seats: Mapping[int, Mapping[str, Any]]
    seatings: tuple[tuple[Seated, ...], ...]
    preparations: tuple[tuple[str, int], ...] = ()
    """Type and seat of every player that has to prepare something before the matches."""
    traits: Mapping[str, Any] = field(default_factory=dict)
    """Columns that follow from the levels; they are no part of what identifies a unit."""

    @property
    def columns(self) -> Mapping[str, Any]:
        """What tables say about the cell."""
        return {**self.labels, **self.traits} if self.traits else self.labels

    @property
    def size(self) -> int:
        """How many units the cell has per replicate."""
        return len(self.preparations) + len(self.seatings) * self.mechanism.generations

    def places(self, generation: int) -> range:
        """The units of a generation; preparations belong to the first one."""
        start = len(self.preparations) + generation * len(self.seatings)
        end = min(start + len(self.seatings), self.size)
        return range(start if generation else 0, end)

    def seating(self, place: int) -> tuple[tuple[Seated, ...], int]:
        """Who plays in the unit at a place behind the preparations, and in which generation."""
        generation, which = divmod(place - len(self.preparations), len(self.seatings))
        return self.seatings[which], generation
