"""The score of a match: what its payoffs come to."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum


def match_score(payoffs: Sequence[float], discount: float | None = None) -> float:
    """The mean payoff, or the discounted mean in which the last round stands for all that could follow.

    With discount d, round t of T weighs (1-d) d^(t-1) and the last one the whole tail d^(T-1)
    (Tewolde et al. 2026).

    >>> match_score([2.0, 3.0])
    2.5
    >>> match_score([2.0, 4.0], 0.5)
    3.0
    """
    if discount is None or discount == 1:
        return fsum(payoffs) / len(payoffs)
    last = len(payoffs) - 1
    weighted = [
        payoff * (discount**t if t == last else (1 - discount) * discount**t)
        for t, payoff in enumerate(payoffs)
    ]
    return fsum(weighted)
