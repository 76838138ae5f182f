"""Public goods with amounts: how much of an endowment goes into a project that pays all alike."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Any

from ostrom.games.amounts import Amounts
from ostrom.games.function import FunctionGame, at_once
from ostrom.games.game import Game
from ostrom.games.parameters import ManySeats, require
from ostrom.ground.parameters import Number, checked

NAME = "public_goods_amounts"


@checked
def build(
    n: ManySeats = 4,
    endowment: Number = 20,
    multiplier: Number = 1.6,
    step: Number = 1,
    strict: bool = True,
) -> Game:
    """``n`` players put parts of an ``endowment`` in, in steps of ``step``; the sum times ``multiplier`` is shared.

    Theory: nobody puts in anything where a unit returns less than it costs (multiplier below n), everybody all of it
    where it returns more. ``strict`` refuses parameters under which there is no dilemma.
    """
    seats, e, m, s = int(n), float(endowment), float(multiplier), float(step)
    if strict:
        require(NAME, 1 < m < seats, "a dilemma needs a multiplier between 1 and n", f"{m} for n = {seats}")
    given = Amounts(0, e, s, few=dict.fromkeys((0.0, Amounts(0, e, s).nearest(e / 2), e)))

    def pay(contributions: Sequence[Any]) -> list[float]:
        share = m * fsum(contributions) / seats
        return [e - own + share for own in contributions]

    top = given.levels - 1
    free_ride = m < seats
    return FunctionGame(
        NAME,
        (given,) * seats,
        at_once("contribute", (given,) * seats, pay),
        stages=("contribute",),
        theory=lambda seat, stage, facts: 0 if free_ride else given.high,  # noqa: ARG005
        theory_payoffs=(e if free_ride else e * m,) * seats,
        best_total=seats * e * max(1.0, m),
        cooperative=(top,) * seats,
        defective=(0,) * seats,
        title="Public goods, amounts",
        citation="Isaac and Walker (1988); Fehr and Gächter (2000)",
        params={"n": seats, "endowment": e, "multiplier": m, "step": s, "strict": strict},
    )


GAME = build
