"""Defect Once."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategy import C, D, Strategy


class DefectOnce(Strategy):
    """Defect in the first round, then cooperate."""

    title: ClassVar[str] = "Defect Once"
    citation: ClassVar[str] = "Akata et al. (2025)"
    memory_depth = 1

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        return C if past else D


STRATEGY = DefectOnce
