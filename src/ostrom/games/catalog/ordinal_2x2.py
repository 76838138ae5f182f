"""The 144 strict ordinal 2x2 games, by number."""

from typing import Annotated

from ostrom.games.game import Game
from ostrom.games.ordinal import ordinal_game
from ostrom.games.tensor import bimatrix
from ostrom.ground.parameters import Ge, Le, NoFraction, checked


@checked
def build(number: Annotated[float, NoFraction(), Ge(1), Le(144)] = 67) -> Game:
    """One of the 144 games in which both seats rank the four outcomes from 1 to 4 without ties.

    ``number`` is 12 x (row - 1) + column in the published table: 1 to 144 (67 is the Prisoner's Dilemma,
    78 the Stag Hunt, 12 Chicken, 23 Battle).

    >>> build(78).params["family"], build(78).title
    ('win-win', 'Game 78: Stag Hunt')
    """
    name = "ordinal_2x2"
    entry = ordinal_game(int(number))
    options = ("first", "second")
    return bimatrix(
        name,
        (options, options),
        entry.matrix,
        title=f"Game {entry.number}: {entry.name}",
        citation="Robinson & Goforth (2005), The Topology of the 2x2 Games; families and names after "
        "Bruns (2015), Names for games; table of Akata et al. (2025)",
        params={
            "number": entry.number,
            "row": entry.row,
            "col": entry.col,
            "family": entry.family,
            "label": entry.name,
        },
    )


GAME = build
