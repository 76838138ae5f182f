"""McNemar's exact test for pairs of yes and no, and the smallest drop that the pairs could have shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class McNemar:
    """Pairs (before, after) of the same items."""

    pairs: int
    before: int
    """Right before."""
    after: int
    lost: int
    """Right before, wrong after."""
    gained: int
    p: float
    """Two-sided, exact: lost and gained are equally likely under no change."""
    detectable: int | None
    """The smallest net loss of items that would have had p <= .05 with as many gains; None: no loss could have."""


def mcnemar(before: Sequence[bool], after: Sequence[bool]) -> McNemar:
    """Compare two yes-or-no results of the same items.

    >>> found = mcnemar([True] * 10 + [False] * 2, [False] * 6 + [True] * 4 + [False] * 2)
    >>> found.lost, found.gained, found.p, found.detectable
    (6, 0, 0.03125, 6)
    """
    lost = sum(a and not b for a, b in zip(before, after, strict=True))
    gained = sum(b and not a for a, b in zip(before, after, strict=True))
    most = sum(before)
    found = next((k for k in range(gained + 1, most + 1) if _p(k, gained) <= LEVEL), None)
    return McNemar(
        len(before),
        most,
        sum(after),
        lost,
        gained,
        _p(lost, gained),
        None if found is None else found - gained,
    )


def _p(lost: int, gained: int) -> float:
    total, least = lost + gained, min(lost, gained)
    tail = Fraction(sum(comb(total, k) for k in range(least + 1)), 2**total)
    return min(1.0, float(2 * tail))
