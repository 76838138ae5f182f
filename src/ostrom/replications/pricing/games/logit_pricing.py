"""Price competition: sellers of similar products set prices at the same time, and customers buy where it suits them."""

from math import fsum
from typing import Annotated

from ostrom.games.amounts import Amounts
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.game import Game
from ostrom.games.parameters import ManySeats, require, shown
from ostrom.ground.parameters import Amount, Finite, Ge, Le, checked
from ostrom.replications.pricing.market import Market

Appeal = Annotated[float, Finite(), Ge(-50), Le(50)]
Positive = Annotated[float, Finite(), Ge(0.001), Le(10**6)]


@checked
def build(
    n: ManySeats = 2,
    quality: Appeal = 2,
    differentiation: Annotated[float, Finite(), Ge(0.01), Le(50)] = 0.25,
    outside: Appeal = 0,
    cost: Amount = 1,
    customers: Positive = 100,
    scale: Positive = 1,
    ceiling: Positive = 5,
    step: Positive = 0.01,
) -> Game:
    """``n`` sellers name prices from 0 to ``ceiling`` in steps of ``step``, all at the same time; demand is logit.

    Of ``customers``, a seller has a share in proportion to exp((``quality`` - price) / ``differentiation``), and
    exp(``outside`` / differentiation) stands for those who buy nothing. A unit costs ``cost``. ``scale`` multiplies
    cost and prices, so that no price is known from elsewhere. Theory: the symmetric equilibrium of one round, the
    nearest price of it that may be named. All together earn most at the price of a monopoly; where customers are so few
    or ``step`` is so wide that no price lies between these two, the game is refused.

    >>> [round(profit, 2) for profit in build().payoff((150, 192))]
    [37.83, 12.97]
    """
    market = Market(
        int(n), float(quality), float(differentiation), float(outside), float(cost), float(customers),
        float(scale),
    )  # fmt: skip
    top, by = (round(number * market.scale, 9) for number in (float(ceiling), float(step)))
    text = f"{shown(float(ceiling))}, where that price is {market.monopoly / market.scale:.4g}"
    require("logit_pricing", market.monopoly <= top, "ceiling must be at least a monopoly's price", text, lifted=False)
    gap = (market.monopoly - market.nash) / market.scale
    text = f"{shown(float(step))}, where these are {gap:.4g} apart"
    require(
        "logit_pricing",
        float(step) <= gap,
        "step must be at most the distance of the equilibrium's price from a monopoly's",
        text,
        lifted=False,
    )
    prices = Amounts(0, top, by)
    turns = [Due(seat, "price", prices) for seat in range(market.sellers)]

    def play(now: Now) -> Stages:  # noqa: ARG001
        named = [float(price) for price in (yield turns)]
        facts = {"sold": [round(units, 2) for units in market.sold(named)], "mean_price": fsum(named) / market.sellers}
        return End(market.profits(named), facts)

    usual = prices.nearest(market.nash)
    best = max((prices.value(at) for at in _around(prices, market.monopoly)), key=market.alike)
    return FunctionGame(
        "logit_pricing",
        (prices,) * market.sellers,
        play,
        stages=("price",),
        theory=lambda seat, stage, facts: usual,  # noqa: ARG005
        theory_payoffs=(market.alike(usual),) * market.sellers,
        best_total=market.sellers * market.alike(market.monopoly),
        landmarks={
            "Nash price": round(market.nash, 6), "Nash price that may be named": usual,
            "monopoly price": round(market.monopoly, 6), "monopoly price that may be named": best,
        },
        title="Price competition",
        citation="Calvano, Calzolari, Denicolò and Pastorello (2020), Artificial Intelligence, Algorithmic Pricing, "
        "and Collusion",
        params={
            "n": market.sellers, "quality": market.quality, "differentiation": market.differentiation,
            "outside": market.outside, "cost": market.cost, "customers": market.customers, "scale": market.scale,
            "ceiling": float(ceiling), "step": float(step),
        },
    )  # fmt: skip


def _around(prices: Amounts, price: float) -> range:
    """Return the indices of the amounts next to a price."""
    at = int(price / prices.step)
    return range(max(0, at), min(prices.levels, at + 2))


GAME = build
