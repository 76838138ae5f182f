"""Joss."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._dilemma import chance
from ostrom.agents.strategy import C, D, Reciprocator


class Joss(Reciprocator):
    """Cooperate first; answer cooperation with cooperation with chance p only, defection with defection."""

    title: ClassVar[str] = "Joss"
    citation: ClassVar[str] = "Joss, in Axelrod (1980)"
    memory_depth = 1

    def __init__(self, p: float = 0.9, *, tolerance: int = 0) -> None:
        super().__init__(tolerance=tolerance)
        self.p = chance("p", p)
        self.stochastic = 0 < self.p < 1

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        if not past:
            return C
        return self.p if past.cooperated(-1) else D


STRATEGY = Joss
