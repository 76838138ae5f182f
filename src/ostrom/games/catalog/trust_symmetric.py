"""Symmetric Trust: both seats trust or betray at once, so both are investor and trustee."""

from __future__ import annotations

from typing import Any

from ostrom.games.bimatrix import symmetric_2x2
from ostrom.games.game import Game
from ostrom.games.parameters import number, require, shown, switch


def build(T: Any = 20, R: Any = 10, P: Any = 4, S: Any = 2, *, strict: bool = True) -> Game:
    """Trust or betray: the game that the printed rewards of Liu et al. (2026) belong to.

    ``T`` is paid for betraying one who trusts, ``R`` for mutual trust, ``P`` for mutual betrayal and ``S``
    for trusting a betrayer. ``strict`` demands T > R > P > S. With the defaults taking turns at betrayal (T +
    S = 22) pays a pair more than mutual trust (2R = 20).

    >>> build().payoff((0, 1))
    (2.0, 20.0)
    """
    name = "trust_symmetric"
    t, r, p, s = (number(name, what, value) for what, value in zip("TRPS", (T, R, P, S), strict=True))
    if switch(name, "strict", strict):
        found = f"T={shown(t)}, R={shown(r)}, P={shown(p)}, S={shown(s)}"
        require(name, t > r > p > s, "needs T > R > P > S", found)
    return symmetric_2x2(
        name,
        ("trust", "betray"),
        both=r,
        alone=s,
        other=t,
        neither=p,
        cooperative=(0, 0),
        title="Trust, symmetric",
        citation="Liu et al. (2026), The Memory Curse",
        params={"T": t, "R": r, "P": p, "S": s, "strict": strict},
    )


GAME = build
