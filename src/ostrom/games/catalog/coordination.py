"""Coordination: it only matters that all do the same."""

from __future__ import annotations

import numpy as np

from ostrom.games.game import Game
from ostrom.games.parameters import Seats, require, shown
from ostrom.games.tensor import TensorGame
from ostrom.ground.parameters import Number, checked


@checked
def build(
    left: Number = 1, right: Number = 1, miss: Number = 0, n: Seats = 2, *, strict: bool = True
) -> Game:
    """Everybody picks left or right; all are paid when all pick the same.

    ``left`` and ``right`` are paid to everyone when all meet there (unequal values make one of them better
    for all), ``miss`` when they do not meet. ``n`` is the number of seats (2 to 16). ``strict`` demands that
    meeting on either side beats missing.

    >>> build(left=2).payoff((0, 0))
    (2.0, 2.0)
    """
    name = "coordination"
    at_left, at_right, apart, seats = float(left), float(right), float(miss), int(n)
    if strict:
        found = f"left={shown(at_left)}, right={shown(at_right)}, miss={shown(apart)}"
        require(name, min(at_left, at_right) > apart, "left and right must be above miss", found)
    payoffs = np.full((2,) * seats + (seats,), apart)
    payoffs[(0,) * seats] = at_left
    payoffs[(1,) * seats] = at_right
    return TensorGame(
        name,
        (("left", "right"),) * seats,
        payoffs,
        title="Coordination",
        citation="Schelling (1960), The Strategy of Conflict; Lewis (1969), Convention",
        params={"left": at_left, "right": at_right, "miss": apart, "n": seats, "strict": strict},
    )


GAME = build
