"""Chicken: who swerves loses face, and if nobody does, both lose more."""

from __future__ import annotations

from typing import Any

from ostrom.games.bimatrix import symmetric_2x2
from ostrom.games.game import Game
from ostrom.games.parameters import number, require, shown, switch


def build(win: Any = 1, tie: Any = 0, lose: Any = -1, crash: Any = -10, *, strict: bool = True) -> Game:
    """Swerve or drive straight at each other.

    ``win`` is paid to who drives straight while the other swerves, ``lose`` to who swerves, ``tie`` when both
    swerve and ``crash`` when nobody does. ``strict`` demands win > tie > lose > crash.

    >>> build().payoff((0, 1))
    (-1.0, 1.0)
    """
    name = "chicken"
    given = (("win", win), ("tie", tie), ("lose", lose), ("crash", crash))
    best, even, worse, worst = (number(name, what, value) for what, value in given)
    if switch(name, "strict", strict):
        found = f"win={shown(best)}, tie={shown(even)}, lose={shown(worse)}, crash={shown(worst)}"
        require(name, best > even > worse > worst, "needs win > tie > lose > crash", found)
    return symmetric_2x2(
        name,
        ("swerve", "straight"),
        both=even,
        alone=worse,
        other=best,
        neither=worst,
        cooperative=(0, 0),
        title="Chicken",
        citation="Rapoport & Chammah (1966), The game of chicken",
        params={"win": best, "tie": even, "lose": worse, "crash": worst, "strict": strict},
    )


GAME = build
