"""The score of a match: what its payoffs come to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import fsum
from operator import mul


@lru_cache(maxsize=256)
def round_weights(rounds: int, discount: float) -> tuple[float, ...]:
    """Weights (1-d)d^(t-1) of the rounds, the last one taking the whole tail d^(T-1); they sum to one.

    The tail belongs to the last round because the match stands for an endless one whose play no longer
    changes (Tewolde et al. 2026).

    >>> round_weights(3, 0.5)
    (0.5, 0.25, 0.25)
    """
    return (*((1 - discount) * discount**t for t in range(rounds - 1)), discount ** (rounds - 1))


def match_score(payoffs: Sequence[float], discount: float | None = None) -> float:
    """The mean payoff, or the discounted mean in which the last round stands for all that could follow.

    >>> match_score([2.0, 3.0])
    2.5
    >>> match_score([2.0, 4.0], 0.5)
    3.0
    """
    if discount is None or discount == 1:
        return fsum(payoffs) / len(payoffs)
    return fsum(map(mul, payoffs, round_weights(len(payoffs), discount)))
