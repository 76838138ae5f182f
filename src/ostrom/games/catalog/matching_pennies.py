"""Matching Pennies: one seat wins when the coins match, the other when they differ."""

from __future__ import annotations

from typing import Any

from ostrom.games.bimatrix import bimatrix
from ostrom.games.game import Game
from ostrom.games.parameters import number, require, shown, switch


def build(stake: Any = 1, *, strict: bool = True) -> Game:
    """Show heads or tails; the matcher (seat 1) wins on a match, the mismatcher (seat 2) otherwise.

    ``stake`` is what the loser pays to the winner. ``strict`` demands that it is above 0.

    >>> build().payoff((0, 0))
    (1.0, -1.0)
    """
    name = "matching_pennies"
    s = number(name, "stake", stake)
    if switch(name, "strict", strict):
        require(name, s > 0, "stake must be above 0", f"stake={shown(s)}")
    sides = ("heads", "tails")
    return bimatrix(
        name,
        (sides, sides),
        [[(s, -s), (-s, s)], [(-s, s), (s, -s)]],
        roles=("matcher", "mismatcher"),
        title="Matching Pennies",
        citation="von Neumann (1928), Zur Theorie der Gesellschaftsspiele",
        params={"stake": s, "strict": strict},
    )


GAME = build
