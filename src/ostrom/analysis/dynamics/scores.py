"""The score of one match: discounted mean over rounds, and the normalised scale between two benchmarks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ostrom.errors import UsageError


def round_weights(rounds: int, discount: float) -> tuple[float, ...]:
    """Weights (1-d)d^(t-1) of the rounds, the last one taking the whole tail d^(T-1); they sum to one.

    The tail belongs to the last round because the match stands for an endless one whose play no longer
    changes (Tewolde et al., 2026).

    >>> round_weights(3, 0.5)
    (0.5, 0.25, 0.25)
    >>> round_weights(1, 0.8)
    (1.0,)
    """
    if rounds < 1:
        raise UsageError(f"a match needs at least one round to have a score (found {rounds})")
    if not 0.0 <= discount <= 1.0:
        raise UsageError(f"the discount must lie in [0, 1) (found {discount!r})")
    if rounds == 1:
        return (1.0,)
    if discount == 1.0:
        # The formula would put all weight on the last round, which nobody means by "no discounting".
        raise UsageError(
            f"a discount of 1 gives {rounds} rounds no discounted mean; ask for the plain mean instead"
        )
    return (*((1.0 - discount) * discount**t for t in range(rounds - 1)), discount ** (rounds - 1))


def discounted_mean(payoffs: Sequence[float], discount: float) -> float:
    """Discounted mean of one seat's payoffs, first round first.

    >>> discounted_mean([4.0, 0.0, 2.0], 0.5)
    2.5
    """
    weights = round_weights(len(payoffs), discount)
    return math.fsum(w * p for w, p in zip(weights, payoffs, strict=True))


def plain_mean(payoffs: Sequence[float]) -> float:
    """Undiscounted mean of one seat's payoffs.

    >>> plain_mean([4.0, 0.0, 2.0])
    2.0
    """
    if not payoffs:
        raise UsageError("a match needs at least one round to have a score (found 0)")
    return math.fsum(payoffs) / len(payoffs)


def normalised(score: float, *, equilibrium: float, cooperation: float) -> float:
    """Score on the scale where the all-defect equilibrium is 0 and full cooperation is 1.

    >>> normalised(1.5, equilibrium=1.0, cooperation=2.0)
    0.5
    """
    if cooperation == equilibrium:
        raise UsageError(
            f"no normalised score exists when equilibrium and cooperation pay the same ({equilibrium!r})"
        )
    return (score - equilibrium) / (cooperation - equilibrium)
