"""Reverse Tit for Tat."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategy import C, D, Reciprocator


class ReverseTitForTat(Reciprocator):
    """Defect first, then do the opposite of what the other did last.

    The Axelrod library calls it Bully; its AntiTitForTat is the same but for a cooperative start.
    """

    title: ClassVar[str] = "Reverse Tit for Tat"
    citation: ClassVar[str] = "Nachbar (1992)"
    memory_depth = 1

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        return C if past and not past.cooperated(-1) else D


STRATEGY = ReverseTitForTat
