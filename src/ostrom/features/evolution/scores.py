"""The score of one match that came from elsewhere, checked, and the normalised scale between two benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

from ostrom.ground.errors import UsageError
from ostrom.mechanisms.base import match_score


def discounted_mean(payoffs: Sequence[float], discount: float) -> float:
    """Discounted mean of one seat's payoffs, first round first.

    >>> discounted_mean([4.0, 0.0, 2.0], 0.5)
    2.5
    """
    _check_played(payoffs)
    if not 0.0 <= discount <= 1.0:
        raise UsageError(f"the discount must lie in [0, 1) (found {discount!r})")
    if discount == 1.0 and len(payoffs) > 1:
        # The formula would put all weight on the last round, which nobody means by "no discounting".
        raise UsageError(
            f"a discount of 1 gives {len(payoffs)} rounds no discounted mean; ask for the plain mean instead"
        )
    return match_score(payoffs, discount)


def plain_mean(payoffs: Sequence[float]) -> float:
    """Undiscounted mean of one seat's payoffs.

    >>> plain_mean([4.0, 0.0, 2.0])
    2.0
    """
    _check_played(payoffs)
    return match_score(payoffs)


def _check_played(payoffs: Sequence[float]) -> None:
    if not payoffs:
        raise UsageError("a match needs at least one round to have a score (found 0)")


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
