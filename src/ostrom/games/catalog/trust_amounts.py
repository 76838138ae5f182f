"""The trust game with amounts: what is sent grows on the way, and the receiver decides what comes back."""

from __future__ import annotations

from typing import Any

from ostrom.games.amounts import IDLE, Amounts
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.game import Game
from ostrom.games.parameters import number, require

NAME = "trust_amounts"


def build(endowment: Any = 10, multiplier: Any = 3, step: Any = 1, trustee_endowment: Any = 0) -> Game:
    """Seat 1 sends a part of its ``endowment``, times ``multiplier``; seat 2 returns a part of it.

    Both name amounts in steps of ``step``. Seat 2 keeps the rest and its own ``trustee_endowment``, which cannot be
    sent. If nothing is sent, there is nothing to return and seat 2 is not asked. Theory (subgame perfect): nothing is
    returned, so nothing is sent; all together have most if everything is sent.
    """
    e, m, own = (
        number(NAME, k, v)
        for k, v in (
            ("endowment", endowment),
            ("multiplier", multiplier),
            ("trustee_endowment", trustee_endowment),
        )
    )
    by = number(NAME, "step", step)
    require(NAME, m > 1, "multiplier must be above 1", f"multiplier={m}")
    require(NAME, own >= 0, "trustee_endowment must be at least 0", f"trustee_endowment={own}")
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
