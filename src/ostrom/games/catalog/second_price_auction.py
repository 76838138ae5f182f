"""Second-price sealed-bid auction: the highest bid wins and pays the second highest."""

from __future__ import annotations

from typing import Any

from ostrom.games.game import Game
from ostrom.games.sealed_bids import auction


def build(n: Any = 4, high: Any = 100, step: Any = 1) -> Game:
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
