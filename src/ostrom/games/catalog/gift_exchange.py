"""Gift exchange: an employer offers a wage, a worker answers with effort that nobody can demand."""

from __future__ import annotations

from typing import Annotated

from ostrom.games.amounts import Amounts
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.game import Game
from ostrom.ground.parameters import Finite, Gt, Number, checked

NAME = "gift_exchange"
COSTS = (0, 1, 2, 4, 6, 8, 10, 12, 15, 18)
"""What an effort of 0.1, 0.2, ... 1.0 costs the worker."""
EFFORTS = Amounts(0.1, 1, 0.1)


@checked
def build(value: Annotated[float, Finite(), Gt(0)] = 100, step: Number = 1) -> Game:
    """Seat 1 pays a wage from 0 to ``value`` in steps of ``step``; seat 2 chooses an effort from 0.1 to 1.

    The employer receives value x effort less the wage, the worker the wage less the cost of its effort (0, 1, 2, 4,
    6, 8, 10, 12, 15 and 18 from the lowest effort to the highest). Theory (subgame perfect): the lowest effort
    whatever the wage, so a wage of 0.
    """
    v, by = float(value), float(step)
    wages = Amounts(0, v, by)

    def play(now: Now) -> Stages:  # noqa: ARG001
        (wage,) = yield [Due(0, "wage", wages)]
        (effort,) = yield [Due(1, "effort", EFFORTS, {"wage": wage})]
        return End((round(v * float(effort) - float(wage), 9), float(wage) - cost(float(effort))))

    return FunctionGame(
        NAME,
        (wages, EFFORTS),
        play,
        stages=("wage", "effort"),
        theory=lambda seat, stage, facts: 0 if seat == 0 else 0.1,  # noqa: ARG005
        theory_payoffs=(round(v * 0.1, 9), 0.0),
        best_total=max(round(v * (i + 1) / 10, 9) - paid for i, paid in enumerate(COSTS)),
        roles=("employer", "worker"),
        title="Gift exchange",
        citation="Fehr, Kirchsteiger and Riedl (1993); payoffs as in Fehr, Gächter and Kirchsteiger (1997)",
        params={"value": v, "step": by, "costs": list(COSTS)},
    )


def cost(effort: float) -> float:
    """What an effort costs.

    >>> cost(0.1), cost(0.7), cost(1)
    (0.0, 10.0, 18.0)
    """
    return float(COSTS[EFFORTS.place(effort)])


GAME = build
