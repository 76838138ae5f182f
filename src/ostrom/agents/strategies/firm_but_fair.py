"""Firm but fair."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._dilemma import chance
from ostrom.agents.strategy import C, D, Reciprocator


class FirmButFair(Reciprocator):
    """Tit for tat that, once both have defected, offers cooperation with chance p (two thirds)."""

    title: ClassVar[str] = "Firm but Fair"
    citation: ClassVar[str] = "Frean (1994)"
    memory_depth = 1

    def __init__(self, p: float = 2 / 3, *, tolerance: int = 0) -> None:
        super().__init__(tolerance=tolerance)
        self.p = chance("p", p)
        self.stochastic = 0 < self.p < 1

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        if not past or past.cooperated(-1):
            return C
        return D if past.i_cooperated(-1) else self.p


STRATEGY = FirmButFair
