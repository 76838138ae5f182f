"""Generous tit for tat."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._dilemma import Dilemma
from ostrom.agents.strategy import C, Reciprocator, Tolerance
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.ground.parameters import Share, checked


class GenerousTitForTat(Reciprocator):
    """Tit for tat that forgives a defection with chance g.

    Without ``g`` it is the most generous that defectors cannot exploit, from the game's payoffs:
    min(1 - (T - R) / (R - S), (R - P) / (T - P)).
    """

    title: ClassVar[str] = "Generous Tit for Tat"
    citation: ClassVar[str] = "Nowak and Sigmund (1992)"
    memory_depth = 1
    stochastic = True

    @checked
    def __init__(self, g: Share | None = None, *, tolerance: Tolerance = 0) -> None:
        super().__init__(tolerance=tolerance)
        self.g = None if g is None else float(g)
        if self.g is not None:
            self.stochastic = 0 < self.g < 1
        self._known: dict[tuple[Game, int], float] = {}

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        if not past or past.cooperated(-1):
            return C
        return self._generosity(past.game, past.seat) if self.g is None else self.g

    def _fit(self, game: Game, seat: int) -> None:
        """Refuse before the first move, not when the first defection is to be forgiven."""
        super()._fit(game, seat)
        if self.g is None:
            self._generosity(game, seat)

    def _generosity(self, game: Game, seat: int) -> float:
        if (game, seat) not in self._known:
            d = Dilemma.of(game, seat, self.name)
            if not d.temptation > d.reward > d.punishment or d.reward <= d.sucker:
                raise StudyError(
                    f"strategy {self.name}: game {game.name} is no dilemma with T > R > P and R > S; give g"
                )
            exploited = 1 - (d.temptation - d.reward) / (d.reward - d.sucker)
            g = min(exploited, (d.reward - d.punishment) / (d.temptation - d.punishment))
            if g < 0:
                raise StudyError(f"strategy {self.name}: no generosity is safe in game {game.name}; give g")
            self._known[game, seat] = g
        return self._known[game, seat]


STRATEGY = GenerousTitForTat
