"""A market with logit demand: sales, profits, and theoretical prices."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, fsum


@dataclass(frozen=True)
class Market:
    """Sellers of similar products (Calvano et al. 2020, equation 3), and customers who may buy nothing.

    >>> market = Market(2, 2.0, 0.25, 0.0, 1.0, 100.0, 1.0)
    >>> round(market.nash, 4), round(market.monopoly, 4), [round(sold, 2) for sold in market.sold((1.5, 1.6))]
    (1.4729, 1.925, [55.38, 37.12])
    """

    sellers: int
    quality: float
    differentiation: float
    outside: float
    cost: float
    customers: float
    scale: float

    def sold(self, prices: Sequence[float]) -> list[float]:
        """What each seller sells."""
        spread, nothing = self.differentiation, self.outside / self.differentiation
        wishes = [(self.quality - price / self.scale) / spread for price in prices]
        most = max(*wishes, nothing)  # so that no power overflows
        weights = [exp(wish - most) for wish in wishes]
        together = fsum(weights) + exp(nothing - most)
        return [self.customers * weight / together for weight in weights]

    def profits(self, prices: Sequence[float]) -> list[float]:
        """What each seller earns."""
        pairs = zip(prices, self.sold(prices), strict=True)
        return [(price - self.cost * self.scale) * sold for price, sold in pairs]

    def alike(self, price: float) -> float:
        """Return a seller's profit if all name the same price."""
        return self.profits([price] * self.sellers)[0]

    @cached_property
    def nash(self) -> float:
        """Return the price of the symmetric one-shot equilibrium."""
        return self._price(1)

    @cached_property
    def monopoly(self) -> float:
        """Return the price that maximises joint profit."""
        return self._price(self.sellers)

    def level(self, price: float) -> float:
        """Return a price on the scale from equilibrium (0) to monopoly (1)."""
        return (price - self.nash) / (self.monopoly - self.nash)

    def gain(self, profit: float) -> float:
        """Return a profit on the scale from equilibrium (0) to monopoly (1)."""
        low, high = self.alike(self.nash), self.alike(self.monopoly)
        return (profit - low) / (high - low)

    def _price(self, owned: int) -> float:
        """Return the best price of a seller with ``owned`` products: its margin is spread / (1 - owned x share)."""

        def above(margin: float) -> bool:
            share = owned * self.sold([(self.cost + margin) * self.scale] * self.sellers)[0] / self.customers
            return margin * (1 - share) >= self.differentiation

        return (self.cost + _first(above, self.differentiation)) * self.scale


def _first(holds: Callable[[float], bool], start: float) -> float:
    """Return the smallest number from which a condition holds; it does not hold below ``start``."""
    low, high = start, start
    while not holds(high):
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return (low + high) / 2
