"""Irrigation: the upper farmer opens the gate first, and the lower one has what flows on."""

from __future__ import annotations

from typing import Any

from ostrom.games.amounts import IDLE, Amounts
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.game import Game
from ostrom.games.parameters import number, whole_number

NAME = "irrigation"


def build(water: Any = 10, need: Any = 5) -> Game:
    """Seat 1 takes some of the ``water``, seat 2 some of the rest; a unit is worth 2 up to the ``need``, then 0.5.

    Theory (subgame perfect): the upper farmer takes everything. Both together have most if the water is shared.
    """
    units, enough = whole_number(NAME, "water", water, least=1, most=10**6), number(NAME, "need", need)

    def worth(used: float) -> float:
        return 2 * min(used, enough) + 0.5 * max(0.0, used - enough)

    def play(now: Now) -> Stages:  # noqa: ARG001
        (taken,) = yield [Due(0, "open", Amounts(0, units))]
        left, used = units - int(taken), 0
        if left:
            (used,) = yield [Due(1, "use", Amounts(0, left), {"left": left})]
        return End((worth(float(taken)), worth(float(used))), {"left": left})

    return FunctionGame(
        NAME,
        (Amounts(0, units), Amounts(0, units, also=(IDLE,))),
        play,
        stages=("open", "use"),
        theory=lambda seat, stage, facts: units if seat == 0 else facts["left"],  # noqa: ARG005
        theory_payoffs=(worth(units), 0.0),
        best_total=max(worth(own) + worth(units - own) for own in range(units + 1)),
        roles=("upper farmer", "lower farmer"),
        title="Irrigation",
        citation="Made up for this example, after Ostrom and Gardner (1993)",
        params={"water": units, "need": enough},
    )
