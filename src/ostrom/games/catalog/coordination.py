"""Coordination: it only matters that all do the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostrom.games.game import Game
from ostrom.games.parameters import number, require, shown, switch, whole
from ostrom.games.tensor import TensorGame


def build(left: Any = 1, right: Any = 1, miss: Any = 0, n: Any = 2, *, strict: bool = True) -> Game:
    """Everybody picks left or right; all are paid when all pick the same.

    ``left`` and ``right`` are paid to everyone when all meet there (unequal values make one of them better
    for all), ``miss`` when they do not meet. ``n`` is the number of seats (2 to 16). ``strict`` demands that
    meeting on either side beats missing.

    >>> build(left=2).payoff((0, 0))
    (2.0, 2.0)
    """
    name = "coordination"
    given = (("left", left), ("right", right), ("miss", miss))
    at_left, at_right, apart = (number(name, what, value) for what, value in given)
    seats = whole(name, "n", n, least=2, most=16)
    if switch(name, "strict", strict):
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
