"""Tit for Two Tats."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategy import C, D, Reciprocator


class TitForTwoTats(Reciprocator):
    """Defect only if the other defected in both of the last two rounds."""

    title: ClassVar[str] = "Tit for Two Tats"
    citation: ClassVar[str] = "Axelrod (1980)"
    memory_depth = 2

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        return D if len(past) >= 2 and not past.cooperated(-1) and not past.cooperated(-2) else C


STRATEGY = TitForTwoTats
