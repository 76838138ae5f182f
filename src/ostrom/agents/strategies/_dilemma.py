"""The four payoffs of a dilemma as a seat meets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from ostrom.games.game import Game
from ostrom.ground.errors import StudyError


@dataclass(frozen=True, slots=True)
class Dilemma:
    """Payoffs of one seat when it and all the others cooperate or defect."""

    reward: float
    sucker: float
    temptation: float
    punishment: float

    @classmethod
    def of(cls, game: Game, seat: int, strategy: str, payee: int | None = None) -> Dilemma:
        """From ``seat``'s side: sucker is paid when it alone cooperates, temptation when it alone defects.

        With a ``payee`` the same four outcomes, as they pay another seat.
        """
        if None in game.cooperative or None in game.defective:
            raise StudyError(
                f"strategy {strategy} needs a cooperative action for every seat, game {game.name} has none"
            )

        def paid(own: bool, others: bool) -> float:
            profile = [
                cast(int, game.cooperative[s] if (own if s == seat else others) else game.defective[s])
                for s in range(game.seats)
            ]
            return game.payoff(profile)[seat if payee is None else payee]

        return cls(paid(True, True), paid(True, False), paid(False, True), paid(False, False))
