"""Hard Tit for Tat."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategy import C, D, Reciprocator


class HardTitForTat(Reciprocator):
    """Defect if the other defected in any of the last three rounds."""

    title: ClassVar[str] = "Hard Tit for Tat"
    citation: ClassVar[str] = "Akata et al. (2025)"
    memory_depth = 3

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        return C if past.cooperated_throughout(3) else D


STRATEGY = HardTitForTat
