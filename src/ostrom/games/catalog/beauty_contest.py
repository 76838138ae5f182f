"""The p-beauty contest: guess a part of what all guess on average."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Annotated, Any

from ostrom.games.amounts import Amounts
from ostrom.games.function import FunctionGame, at_once
from ostrom.games.game import Game
from ostrom.games.parameters import ManySeats, require
from ostrom.ground.parameters import Ge, Le, Number, Whole, checked

NAME = "beauty_contest"
NEAR = 1e-9
"""Distances from the target that differ by less, relative to the highest guess, are the same."""


@checked
def build(
    n: ManySeats = 10,
    p: Number = 2 / 3,
    high: Annotated[float, Whole(), Ge(1), Le(10**6)] = 100,
    prize: Number = 100,
    strict: bool = True,
) -> Game:
    """``n`` players guess whole numbers up to ``high``; the ``prize`` goes to the guess nearest to ``p`` x the mean.

    Several nearest guesses share it. Theory: below p = 1 only 0 survives the repeated removal of dominated guesses.
    ``strict`` refuses a p outside 0 to 1, where that is not so.
    """
    seats, part, most, won = int(n), float(p), int(high), float(prize)
    if strict:
        require(NAME, 0 < part < 1, "p must lie between 0 and 1", str(part))
    guesses = Amounts(0, most)

    def pay(made: Sequence[Any]) -> list[float]:
        target = part * fsum(made) / seats
        far = [abs(guess - target) for guess in made]
        nearest = [f <= min(far) + NEAR * most for f in far]
        return [won / sum(nearest) if is_near else 0.0 for is_near in nearest]

    return FunctionGame(
        NAME,
        (guesses,) * seats,
        at_once("guess", (guesses,) * seats, pay),
        stages=("guess",),
        theory=(lambda seat, stage, facts: 0) if 0 < part < 1 else None,  # noqa: ARG005
        theory_payoffs=(won / seats,) * seats if 0 < part < 1 else (),
        best_total=won,
        title="Beauty contest",
        citation="Moulin (1986); Nagel (1995)",
        params={"n": seats, "p": part, "high": most, "prize": won, "strict": strict},
    )


GAME = build
