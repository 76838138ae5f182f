"""Battle of the Sexes: both want to be together, each would rather be at the own favourite."""

from __future__ import annotations

from typing import Any

from ostrom.games.bimatrix import bimatrix
from ostrom.games.game import Game
from ostrom.games.parameters import number, require, shown, switch


def build(favourite: Any = 10, other: Any = 7, miss: Any = 0, *, strict: bool = True) -> Game:
    """Meet at the opera, which seat 1 likes better, or at the match, which seat 2 likes better.

    Meeting at one's ``favourite`` pays that, meeting at the ``other`` place pays that, not meeting pays
    ``miss``. The payoff sweep of Akata et al. (2025) runs over (favourite, other) = (10, 7), (9, 8), (8, 8),
    (8, 9), (7, 10). ``strict`` demands that meeting anywhere beats missing each other.

    >>> build(9, 8).payoff((0, 0))
    (9.0, 8.0)
    """
    name = "battle_of_the_sexes"
    best, second = number(name, "favourite", favourite), number(name, "other", other)
    apart = number(name, "miss", miss)
    if switch(name, "strict", strict):
        found = f"favourite={shown(best)}, other={shown(second)}, miss={shown(apart)}"
        require(name, min(best, second) > apart, "favourite and other must be above miss", found)
    places = ("opera", "match")
    return bimatrix(
        name,
        (places, places),
        [[(best, second), (apart, apart)], [(apart, apart), (second, best)]],
        title="Battle of the Sexes",
        roles=("first", "second"),
        citation="Luce & Raiffa (1957), Games and Decisions; payoffs of Akata et al. (2025)",
        params={"favourite": best, "other": second, "miss": apart, "strict": strict},
    )


GAME = build
