"""Zero-determinant extortion."""

from __future__ import annotations

from typing import Annotated, ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._dilemma import Dilemma
from ostrom.agents.strategy import C, Strategy
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.ground.parameters import Finite, Ge, Gt, checked

Odds = tuple[float, float, float, float]
"""The chance of cooperating after CC, CD, DC and DD, the own move first."""


class ZDExtortion(Strategy):
    """Hold the own surplus over mutual defection at chi times that of the other, on average.

    The odds follow from the game's payoffs. ``phi`` sets how fast it reacts; without it, half of the largest
    value that keeps all odds between 0 and 1. Opens with cooperation.
    """

    title: ClassVar[str] = "Zero-Determinant Extortion"
    citation: ClassVar[str] = "Press and Dyson (2012)"
    memory_depth = 1
    stochastic = True
    games_of_two: ClassVar[bool] = True

    @checked
    def __init__(
        self,
        chi: Annotated[float, Finite(), Ge(1)] = 3.0,
        phi: Annotated[float, Finite(), Gt(0)] | None = None,
    ) -> None:
        self.chi, self.phi = chi, phi
        self._known: dict[tuple[Game, int], Odds] = {}

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        odds = self.memory_one(past.game, past.seat)
        if not past:
            return C
        return odds[2 * (not past.i_cooperated(-1)) + (not past.cooperated(-1))]

    def memory_one(self, game: Game, seat: int) -> Odds:
        """The chances of cooperating after CC, CD, DC and DD in a game of two."""
        if (game, seat) not in self._known:
            self._known[game, seat] = self._solved(game, seat)
        return self._known[game, seat]

    def _solved(self, game: Game, seat: int) -> Odds:
        mine, its = Dilemma.of(game, seat, self.name), Dilemma.of(game, seat, self.name, payee=1 - seat)

        def pull(own: float, other: float) -> float:
            return (own - mine.punishment) - self.chi * (other - its.punishment)

        cc = pull(mine.reward, its.reward)
        cd = pull(mine.sucker, its.sucker)
        dc = pull(mine.temptation, its.temptation)
        if cc > 0 or cd >= 0 or dc <= 0:
            raise StudyError(
                f"strategy {self.name}: the payoffs of game {game.name} allow no extortion", found=self.chi
            )
        # Each pull moves a chance away from 1 (after C) or 0 (after D); it may move by at most 1.
        most = 1 / max(-cc, -cd, dc)
        phi = most / 2 if self.phi is None else self.phi
        if phi > most * (1 + 1e-12):
            raise StudyError(
                f"strategy {self.name}: phi must be at most {most:.6g} with chi {self.chi:g} in game "
                f"{game.name}",
                found=phi,
            )
        return 1 + phi * cc, max(0.0, 1 + phi * cd), min(1.0, phi * dc), 0.0


STRATEGY = ZDExtortion
