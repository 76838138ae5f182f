"""Random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategy import Strategy
from ostrom.answers import Form
from ostrom.games.amounts import Value
from ostrom.ground.parameters import Share, checked


class Random(Strategy):
    """Cooperate with chance p; without p, play every action with equal chance, in any game."""

    title: ClassVar[str] = "Random"
    citation: ClassVar[str] = "Axelrod (1980)"
    memory_depth = 0
    stochastic = True

    @checked
    def __init__(self, p: Share | None = None) -> None:
        self.p = None if p is None else float(p)
        self.needs_cooperation = self.p is not None
        if self.p is not None:
            self.stochastic = 0 < self.p < 1

    def move(self, past: Past) -> float:
        """The chance of cooperating, whatever the past."""
        return 1 / len(past.game.actions[past.seat]) if self.p is None else self.p

    def mix(self, past: Past) -> Sequence[float]:
        """Equal odds, or those of cooperating and defecting where p is given."""
        if self.p is not None:
            return super().mix(past)
        actions = len(past.game.actions[past.seat])
        return (1 / actions,) * actions

    def choose(self, past: Past, form: Form) -> Value | Mapping[Value, float] | None:
        """The same in games by a rule."""
        return None if self.p is None else super().choose(past, form)


STRATEGY = Random
