"""Two Tits for Tat."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategy import C, D, Reciprocator


class TwoTitsForTat(Reciprocator):
    """Defect if the other defected in any of the last two rounds."""

    title: ClassVar[str] = "Two Tits for Tat"
    citation: ClassVar[str] = "Axelrod (1984)"
    memory_depth = 2

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        return C if past.cooperated_throughout(2) else D


STRATEGY = TwoTitsForTat
