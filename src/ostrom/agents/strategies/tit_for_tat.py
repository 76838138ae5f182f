"""Tit for Tat."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategy import C, D, Reciprocator


class TitForTat(Reciprocator):
    """Cooperate first, then do what the other did last."""

    title: ClassVar[str] = "Tit for Tat"
    citation: ClassVar[str] = "Rapoport, in Axelrod (1980)"
    memory_depth = 1

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        return C if not past or past.cooperated(-1) else D


STRATEGY = TitForTat
