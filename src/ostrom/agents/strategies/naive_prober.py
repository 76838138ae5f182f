"""Naive prober."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._dilemma import chance
from ostrom.agents.strategy import C, D, Reciprocator


class NaiveProber(Reciprocator):
    """Tit for tat that, after the first round, defects with chance p where it would cooperate."""

    title: ClassVar[str] = "Naive Prober"
    citation: ClassVar[str] = "Li, Hingston and Kendall (2011)"
    memory_depth = 1

    def __init__(self, p: float = 0.1, *, tolerance: int = 0) -> None:
        super().__init__(tolerance=tolerance)
        self.p = chance("p", p)
        self.stochastic = 0 < self.p < 1

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        if not past:
            return C
        return 1 - self.p if past.cooperated(-1) else D


STRATEGY = NaiveProber
