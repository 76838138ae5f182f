"""Maximin: what a seat can be sure of whatever the others do (von Neumann 1928)."""

from dataclasses import dataclass

import numpy as np

from ostrom.games.equilibria.best_responses import tie_width
from ostrom.games.game import Game
from ostrom.ground.errors import GameError


@dataclass(frozen=True)
class Security:
    """The payoff that a seat can guarantee with a pure action, and all actions that do so."""

    value: float
    actions: tuple[int, ...]


@dataclass(frozen=True)
class MixedSecurity:
    """The payoff that a seat of a 2x2 game can guarantee in expectation, and a mixture that does so."""

    value: float
    mixture: tuple[float, float]


def maximin(game: Game, seat: int) -> Security:
    """The best guaranteed payoff of a seat in pure actions.

    >>> from ostrom.games import games
    >>> build = games.get("matching_pennies")
    >>> maximin(build(), 0)
    Security(value=-1.0, actions=(0, 1))
    """
    worst = np.moveaxis(game.payoffs[..., seat], seat, 0).reshape(len(game.actions[seat]), -1).min(axis=1)
    best = np.flatnonzero(worst >= worst.max() - tie_width(game.payoffs))
    return Security(float(worst.max()), tuple(int(i) for i in best))


def mixed_maximin(game: Game, seat: int) -> MixedSecurity:
    """The best guaranteed expectation of a seat of a 2x2 game, in closed form.

    >>> from ostrom.games import games
    >>> build = games.get("matching_pennies")
    >>> mixed_maximin(build(), 0)
    MixedSecurity(value=0.0, mixture=(0.5, 0.5))
    """
    if tuple(map(len, game.actions)) != (2, 2):
        raise GameError(f"game {game.name}: mixed maximin in closed form needs two seats with two actions each")
    (a, b), (c, d) = np.moveaxis(game.payoffs[..., seat], seat, 0).tolist()
    # Against the other's first action a mixture p pays p a + (1 - p) c, against the second p b + (1 - p) d.
    # The lower of two straight lines is highest at an end or where they cross.
    slope = (a - c) - (b - d)
    candidates = [1.0, 0.0]
    width = tie_width(game.payoffs)
    if abs(slope) > width and 0 < (crossing := (d - c) / slope) < 1:
        candidates.append(crossing)
    values = [min(p * a + (1 - p) * c, p * b + (1 - p) * d) for p in candidates]
    # Of mixtures that guarantee the same, the first: a pure action before a mixture.
    best = next(i for i, value in enumerate(values) if value >= max(values) - width)
    return MixedSecurity(max(values), (candidates[best], 1 - candidates[best]))
