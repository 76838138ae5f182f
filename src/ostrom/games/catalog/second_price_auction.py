"""Second-price sealed-bid auction: the highest bid wins and pays the second highest."""

from __future__ import annotations

from ostrom.games.game import Game
from ostrom.games.parameters import ManySeats
from ostrom.games.sealed_bids import auction
from ostrom.ground.parameters import Number, checked


@checked
def build(n: ManySeats = 4, high: Number = 100, step: Number = 1) -> Game:
    """``n`` bidders with private values from 0 to ``high`` in steps of ``step``; the winner pays the second bid.

    Theory: to bid the own value is best whatever the others bid.
    """
    return auction(
        "second_price_auction",
        n,
        high,
        step,
        price=lambda bids: bids[1],
        bid=lambda value, seats, amounts: amounts.nearest(value),  # noqa: ARG005
        title="Second-price auction",
        citation="Vickrey (1961)",
    )


GAME = build
