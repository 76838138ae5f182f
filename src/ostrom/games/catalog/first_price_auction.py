"""First-price sealed-bid auction: the highest bid wins and is paid."""

from __future__ import annotations

from typing import Any

from ostrom.games.game import Game
from ostrom.games.sealed_bids import auction


def build(n: Any = 4, high: Any = 100, step: Any = 1) -> Game:
    """``n`` bidders with private values from 0 to ``high`` in steps of ``step``; the winner pays its own bid.

    Theory: with values that are all alike likely, everybody bids (n - 1) / n of the own value (Vickrey 1961), on a
    grid the nearest amount.
    """
    return auction(
        "first_price_auction",
        n,
        high,
        step,
        price=lambda bids: bids[0],
        bid=lambda value, seats, amounts: amounts.nearest(value * (seats - 1) / seats),
        title="First-price auction",
        citation="Vickrey (1961)",
    )


GAME = build
