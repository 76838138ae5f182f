"""Sealed-bid auctions of one good to bidders with private values, at the first and at the second price."""

from collections.abc import Callable, Mapping
from typing import Any

from ostrom.games.amounts import Amounts, Value
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.game import Game
from ostrom.games.parameters import ManySeats
from ostrom.ground.parameters import Number, checked


def auction(
    name: str,
    n: float,
    high: float,
    step: float,
    price: Callable[[list[float]], float],
    bid: Callable[[float, int, Amounts], Value],
    title: str,
    citation: str,
) -> FunctionGame:
    """An auction among ``n`` bidders; values from 0 to ``high`` in steps of ``step`` are equally likely.

    The highest bid wins and pays the ``price`` (of the bids, highest first); equal bids are settled by chance. ``bid``
    returns the theoretical bid of a bidder with a value.
    """
    seats, top, by = int(n), float(high), float(step)
    amounts = Amounts(0, top, by)

    def play(now: Now) -> Stages:
        values = [float(now.draw(seat, "value", amounts)) for seat in range(seats)]
        bids = yield [
            Due(seat, "bid", amounts, {"value": amounts.value(amounts.place(values[seat]))}) for seat in range(seats)
        ]
        offered = [float(b) for b in bids]
        first = [seat for seat in range(seats) if offered[seat] == max(offered)]
        winner = first[int(now.chance(0, "tie") * len(first))]
        paid = price(sorted(offered, reverse=True))
        payoffs = [values[s] - paid if s == winner else 0.0 for s in range(seats)]
        return End(
            payoffs, {"winner": winner, "price": paid}, hidden={"values": values, "bids": offered, "price": paid}
        )

    def theory(seat: int, stage: str, facts: Mapping[str, Any]) -> Value | None:  # noqa: ARG001
        return bid(float(facts["value"]), seats, amounts)

    return FunctionGame(
        name,
        (amounts,) * seats,
        play,
        stages=("bid",),
        theory=theory,
        roles=("bidder",) * seats,
        title=title,
        citation=citation,
        params={"n": seats, "high": top, "step": by},
    )


@checked
def first_price_auction(n: ManySeats = 4, high: Number = 100, step: Number = 1) -> Game:
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


@checked
def second_price_auction(n: ManySeats = 4, high: Number = 100, step: Number = 1) -> Game:
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
