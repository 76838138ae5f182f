"""Win-Stay Lose-Shift."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategy import C, D, Reciprocator


class WinStayLoseShift(Reciprocator):
    """Cooperate first, then repeat the last move if the other cooperated and change it if not."""

    title: ClassVar[str] = "Win-Stay Lose-Shift"
    citation: ClassVar[str] = "Kraines and Kraines (1989); Nowak and Sigmund (1993)"
    memory_depth = 1

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        return C if not past or past.i_cooperated(-1) == past.cooperated(-1) else D


STRATEGY = WinStayLoseShift
