"""The volunteer's dilemma: one is enough, and everybody would rather it were somebody else."""

from __future__ import annotations

from itertools import product

import numpy as np

from ostrom.games.game import Game
from ostrom.games.parameters import Seats, require, shown
from ostrom.games.tensor import TensorGame
from ostrom.ground.parameters import Number, checked


@checked
def build(n: Seats = 3, benefit: Number = 10, cost: Number = 4) -> Game:
    """Everybody has the ``benefit`` if at least one of ``n`` players volunteers, which has a ``cost``; else nobody.

    In the symmetric equilibrium each waits with chance (cost / benefit) ** (1 / (n - 1)), so the more could
    volunteer, the less likely it is that anybody does.

    >>> build().payoff((0, 1, 1)), build().payoff((1, 1, 1))
    ((6.0, 10.0, 10.0), (0.0, 0.0, 0.0))
    """
    name = "volunteers_dilemma"
    seats, good, price = int(n), float(benefit), float(cost)
    found = f"benefit={shown(good)}, cost={shown(price)}"
    require(name, 0 < price < good, "cost must lie between 0 and the benefit", found, lifted=False)
    payoffs = np.empty((2,) * seats + (seats,))
    for profile in product((0, 1), repeat=seats):
        had = good if 0 in profile else 0.0
        payoffs[profile] = [had - price * (action == 0) for action in profile]
    return TensorGame(
        name,
        (("volunteer", "wait"),) * seats,
        payoffs,
        cooperative=(0,) * seats,
        title="Volunteer's dilemma",
        citation="Diekmann (1985), Volunteer's dilemma",
        params={"n": seats, "benefit": good, "cost": price},
    )


GAME = build
