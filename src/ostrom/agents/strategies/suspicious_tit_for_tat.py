"""Suspicious Tit for Tat."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategy import C, D, Reciprocator


class SuspiciousTitForTat(Reciprocator):
    """Defect first, then do what the other did last."""

    title: ClassVar[str] = "Suspicious Tit for Tat"
    citation: ClassVar[str] = "Boyd and Lorberbaum (1987)"
    memory_depth = 1

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        return C if past and past.cooperated(-1) else D


STRATEGY = SuspiciousTitForTat
