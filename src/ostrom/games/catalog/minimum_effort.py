"""Minimum effort: all are as strong as the weakest link, and effort costs everybody its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostrom.games.amounts import Amounts
from ostrom.games.function import FunctionGame, at_once
from ostrom.games.game import Game
from ostrom.games.parameters import ManySeats, require
from ostrom.ground.parameters import Number, checked

NAME = "minimum_effort"


@checked
def build(
    n: ManySeats = 4, levels: ManySeats = 7, gain: Number = 20, cost: Number = 10, base: Number = 60
) -> Game:
    """``n`` players choose efforts from 1 to ``levels``.

    Each is paid the ``base`` and the ``gain`` times the lowest effort, less the ``cost`` times its own. Every effort
    that all choose alike is an equilibrium. The benchmark is the one that pays all most, the highest effort; the
    lowest effort is the safest.
    """
    seats, top, g, c, b = int(n), int(levels), float(gain), float(cost), float(base)
    require(NAME, 0 < c < g, "cost must lie between 0 and the gain", f"cost={c}, gain={g}", lifted=False)
    efforts = Amounts(1, top)

    def pay(chosen: Sequence[Any]) -> list[float]:
        weakest = min(chosen)
        return [b + g * weakest - c * own for own in chosen]

    best = b + (g - c) * top
    return FunctionGame(
        NAME,
        (efforts,) * seats,
        at_once("effort", (efforts,) * seats, pay),
        stages=("effort",),
        theory=lambda seat, stage, facts: top,  # noqa: ARG005
        theory_payoffs=(best,) * seats,
        best_total=best * seats,
        cooperative=(efforts.levels - 1,) * seats,
        defective=(0,) * seats,
        title="Minimum effort",
        citation="Van Huyck, Battalio and Beil (1990), Tacit coordination games",
        params={"n": seats, "levels": top, "gain": g, "cost": c, "base": b},
    )


GAME = build
