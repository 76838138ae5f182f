"""Colonel Blotto: troops are divided over battlefields, and the larger troop wins a field."""

from collections.abc import Iterator, Sequence
from math import comb
from typing import Annotated

from ostrom.games.function import FunctionGame, at_once
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Ge, Le, NoFraction, checked

NAME = "colonel_blotto"
MOST_DIVISIONS = 500
"""The most divisions of the troops that a player can be shown."""


@checked
def build(
    troops: Annotated[float, NoFraction(), Ge(1), Le(100)] = 6, fields: Annotated[float, NoFraction(), Ge(2), Le(8)] = 3
) -> Game:
    """Two players divide ``troops`` over ``fields`` at the same time; each is paid the fields won less those lost.

    An action is a division such as "3-2-1"; a field with equal troops is won by nobody. The game is zero-sum and
    symmetric, so its value is 0 and no division is best against all others.
    """
    count, places = int(troops), int(fields)
    if (ways := comb(count + places - 1, places - 1)) > MOST_DIVISIONS:
        raise GameError(
            f"game {NAME}: {count} troops can be divided over {places} fields in {ways} ways, "
            f"more than {MOST_DIVISIONS}"
        )
    seats = (tuple("-".join(map(str, division)) for division in divisions(count, places)),) * 2

    def pay(chosen: Sequence[str]) -> list[float]:
        one, other = ([int(part) for part in division.split("-")] for division in chosen)
        won = sum((a > b) - (a < b) for a, b in zip(one, other, strict=True))
        return [float(won), float(-won)]

    return FunctionGame(
        NAME,
        seats,
        at_once("divide", seats, pay),
        stages=("divide",),
        best_total=0.0,
        title="Colonel Blotto",
        citation="Borel (1921); Gross and Wagner (1950)",
        params={"troops": count, "fields": places},
    )


def divisions(troops: int, fields: int) -> Iterator[tuple[int, ...]]:
    """Every way to divide troops over fields, most on the first field first.

    >>> list(divisions(2, 2))
    [(2, 0), (1, 1), (0, 2)]
    """
    if fields == 1:
        yield (troops,)
        return
    for first in range(troops, -1, -1):
        for rest in divisions(troops - first, fields - 1):
            yield (first, *rest)


GAME = build
