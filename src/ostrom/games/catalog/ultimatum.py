"""The ultimatum game: take it or leave it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ostrom.games.amounts import Amounts, Value
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.game import Game
from ostrom.ground.parameters import Number, checked

NAME = "ultimatum"


@checked
def build(stake: Number = 100, step: Number = 1, strategy_method: bool = False) -> Game:
    """Seat 1 offers a part of the ``stake`` in steps of ``step``; seat 2 accepts it, or both get nothing.

    With ``strategy_method`` seat 2 names the smallest offer that it accepts, before it knows the offer.
    Theory (subgame perfect): every offer is accepted, so the smallest one is made.
    """
    s, by, blind = float(stake), float(step), strategy_method
    parts = Amounts(0, s, by)

    def play(now: Now) -> Stages:  # noqa: ARG001
        if blind:
            offer, least = yield [Due(0, "offer", parts), Due(1, "least", parts)]
            accepted = float(offer) >= float(least)
        else:
            (offer,) = yield [Due(0, "offer", parts)]
            (reply,) = yield [Due(1, "reply", ("accept", "reject"), {"offer": offer})]
            accepted = reply == "accept"
        given = float(offer)
        return End((s - given, given) if accepted else (0.0, 0.0), {"accepted": accepted})

    def theory(seat: int, stage: str, facts: Mapping[str, Any]) -> Value | None:  # noqa: ARG001
        return "accept" if stage == "reply" else 0

    return FunctionGame(
        NAME,
        (parts, parts if blind else ("accept", "reject")),
        play,
        stages=("offer", "least") if blind else ("offer", "reply"),
        theory=theory,
        theory_payoffs=(s, 0.0),
        best_total=s,
        roles=("proposer", "responder"),
        title="Ultimatum",
        citation="Güth, Schmittberger and Schwarze (1982)",
        params={"stake": s, "step": by, "strategy_method": blind},
    )


GAME = build
