"""First-price sealed-bid auction: the highest bid wins and is paid."""

from __future__ import annotations

from ostrom.games.game import Game
from ostrom.games.parameters import ManySeats
from ostrom.games.sealed_bids import auction
from ostrom.ground.parameters import Number, checked


@checked
def build(n: ManySeats = 4, high: Number = 100, step: Number = 1) -> Game:
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
