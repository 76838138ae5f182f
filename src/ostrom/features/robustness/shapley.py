"""Shapley shares of a value that depends on which terms a model holds (Lindeman, Merenda & Gold 1980)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ostrom.analysis.statistics.samples import Floats

Terms: TypeAlias = frozenset[int]
EXACT_TERMS = 6
"""Number of terms up to which all subsets are fitted; beyond, random orders are drawn in mirrored pairs."""
ORDERS = 24


def shapley_shares(
    value: Callable[[Terms], Floats], count: int, rng: np.random.Generator | None
) -> list[Floats]:
    """The gain of each term, averaged over all orders in which the terms can enter; no order is preferred.

    `value` may answer with an array (one entry per resample). The shares add up to value(all) - value(none).

    >>> shares = shapley_shares(lambda terms: np.array([float(sum(terms))]), 3, None)
    >>> [float(share[0]) for share in shares]
    [0.0, 1.0, 2.0]
    """
    known: dict[Terms, Floats] = {}

    def of(terms: Terms) -> Floats:
        if terms not in known:
            known[terms] = value(terms)
        return known[terms]

    if count <= EXACT_TERMS or rng is None:
        return [_exact(of, term, count) for term in range(count)]
    shares = [np.zeros_like(of(frozenset())) for _ in range(count)]
    for _ in range(ORDERS // 2):
        order = rng.permutation(count).tolist()
        for path in (order, order[::-1]):
            held: Terms = frozenset()
            for term in path:
                grown = held | {term}
                shares[term] = shares[term] + (of(grown) - of(held)) / ORDERS
                held = grown
    return shares


def _exact(of: Callable[[Terms], Floats], term: int, count: int) -> Floats:
    others = [other for other in range(count) if other != term]
    total = np.zeros_like(of(frozenset()))
    for mask in range(2 ** len(others)):
        held = frozenset(other for bit, other in enumerate(others) if mask >> bit & 1)
        weight = math.factorial(len(held)) * math.factorial(count - len(held) - 1) / math.factorial(count)
        total = total + weight * (of(held | {term}) - of(held))
    return total
