"""The trust game with amounts: what is sent grows on the way, and the receiver decides what comes back."""

from __future__ import annotations

from typing import Annotated

from ostrom.games.amounts import IDLE, Amounts
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.game import Game
from ostrom.ground.parameters import Amount, Finite, Gt, Number, checked

NAME = "trust_amounts"


@checked
def build(
    endowment: Number = 10,
    multiplier: Annotated[float, Finite(), Gt(1)] = 3,
    step: Number = 1,
    trustee_endowment: Amount = 0,
) -> Game:
    """Seat 1 sends a part of its ``endowment``, times ``multiplier``; seat 2 returns a part of it.

    Both name amounts in steps of ``step``. Seat 2 keeps the rest and its own ``trustee_endowment``, which cannot be
    sent. If nothing is sent, there is nothing to return and seat 2 is not asked. Theory (subgame perfect): nothing is
    returned, so nothing is sent; all together have most if everything is sent.
    """
    e, m, by, own = float(endowment), float(multiplier), float(step), float(trustee_endowment)
    sending = Amounts(0, e, by)

    def play(now: Now) -> Stages:  # noqa: ARG001
        (sent,) = yield [Due(0, "send", sending)]
        arrived = round(float(sent) * m, 9)
        returned = 0.0
        if arrived:
            told = {"sent": sent, "arrived": arrived}
            (back,) = yield [Due(1, "return", Amounts(0, arrived, by), told)]
            returned = float(back)
        return End((e - float(sent) + returned, own + arrived - returned), {"arrived": arrived})

    return FunctionGame(
        NAME,
        (sending, Amounts(0, round(e * m, 9), by, also=(IDLE,))),
        play,
        stages=("send", "return"),
        theory=lambda seat, stage, facts: 0,  # noqa: ARG005
        theory_payoffs=(e, own),
        best_total=e * m + own,
        roles=("investor", "trustee"),
        title="Trust, amounts",
        citation="Berg, Dickhaut and McCabe (1995), Trust, reciprocity, and social history",
        params={"endowment": e, "multiplier": m, "step": by, "trustee_endowment": own},
    )


GAME = build
