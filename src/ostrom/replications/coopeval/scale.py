"""The scale of a game: what everybody earns when all defect, and when all cooperate."""

from __future__ import annotations

from dataclasses import dataclass

from ostrom.features.evolution.scores import normalised
from ostrom.games.game import Game
from ostrom.mechanisms.incentives import is_equilibrium


@dataclass(frozen=True, slots=True)
class Scale:
    """The two benchmarks of every seat: 0 is the all-defect equilibrium, 1 is full cooperation."""

    equilibrium: tuple[float, ...]
    cooperation: tuple[float, ...]

    def normalised(self, seat: int, score: float) -> float:
        """A score of a seat (from 0) on the scale."""
        return normalised(score, equilibrium=self.equilibrium[seat], cooperation=self.cooperation[seat])


def scale_of(game: Game) -> Scale | str:
    """The scale of a game, or why it has none (Tewolde et al. 2026: (x - NE) / (coop - NE)).

    >>> from ostrom.games import build_game
    >>> scale_of(build_game("prisoners_dilemma:coopeval"))
    Scale(equilibrium=(1.0, 1.0), cooperation=(2.0, 2.0))
    >>> scale_of(build_game("matching_pennies"))
    'game matching_pennies defines no cooperative action'
    """
    cooperate = tuple(a for a in game.cooperative if a is not None)
    defect = tuple(a for a in game.defective if a is not None)
    if len(cooperate) < game.seats:
        return f"game {game.name} defines no cooperative action"
    if len(defect) < game.seats:
        return f"game {game.name} defines no defective action"
    if not is_equilibrium(game, defect):
        return f"in game {game.name} it is no equilibrium that all defect"
    low, high = game.payoff(defect), game.payoff(cooperate)
    if any(high[seat] == low[seat] for seat in range(game.seats)):
        return f"in game {game.name} cooperation pays some seat no more and no less than the equilibrium"
    return Scale(low, high)
