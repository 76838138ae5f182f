"""Rules about actions rather than about cooperation: they work in every game."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from ostrom.agents.past import Past
from ostrom.agents.strategies._actions import pure
from ostrom.agents.strategy import Strategy


class ByAction(Strategy):
    """A strategy that names one action for certain."""

    needs_cooperation = False

    @abstractmethod
    def action(self, past: Past) -> int:
        """The index of the action to play after this past."""

    def mix(self, past: Past) -> Sequence[float]:
        """The named action for certain."""
        return pure(past.game, past.seat, self.action(past))

    def move(self, past: Past) -> float:
        """Whether the named action is the cooperative one."""
        return float(self.action(past) == past.game.cooperative[past.seat])
