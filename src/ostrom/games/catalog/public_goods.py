"""Public Goods: what is given to the pot grows and is shared by all, givers or not."""

from __future__ import annotations

from itertools import product

import numpy as np

from ostrom.games.formula import Formula, Term
from ostrom.games.game import Game
from ostrom.games.parameters import Seats, require, shown
from ostrom.games.tensor import TensorGame
from ostrom.ground.parameters import Number, checked


@checked
def build(n: Seats = 3, multiplier: Number = 1.5, endowment: Number = 1, *, strict: bool = True) -> Game:
    """Contribute the endowment to a common pot or keep it; the pot is multiplied and shared equally.

    ``n`` is the number of seats (2 to 16). ``multiplier`` says how the pot grows: with k contributors
    everybody gets endowment x multiplier x k / n, and who kept the ``endowment`` has it on top. ``strict``
    demands 1 < multiplier < n, without which giving does not help the group or keeping does not help oneself.

    >>> build().payoff((0, 0, 1))
    (1.0, 1.0, 2.0)
    """
    name = "public_goods"
    seats, factor, stake = int(n), float(multiplier), float(endowment)
    if strict:
        found = f"multiplier={shown(factor)}, n={seats}"
        require(name, 1 < factor < seats, "multiplier must lie between 1 and n", found)
        require(name, stake > 0, "endowment must be above 0", f"endowment={shown(stake)}")
    payoffs = np.empty((2,) * seats + (seats,))
    for profile in product((0, 1), repeat=seats):
        share = stake * (factor * profile.count(0) / seats)
        payoffs[profile] = [share + stake * action for action in profile]
    return TensorGame(
        name,
        (("contribute", "free_ride"),) * seats,
        payoffs,
        cooperative=(0,) * seats,
        title="Public Goods",
        citation="Isaac & Walker (1988), Group size effects in public goods provision",
        formula=Formula(0, tuple(Term(stake * action, stake * factor, float(seats)) for action in (0, 1))),
        params={"n": seats, "multiplier": factor, "endowment": stake, "strict": strict},
    )


GAME = build
