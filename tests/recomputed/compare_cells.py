"""Verdicts of `ostrom compare` on drawn pairs with a known difference."""

from typing import Any

import numpy as np
from tests.recomputed import bets

SHARE = (-1.0, 1.0)


def verdicts(off: Any, margin: float) -> Any:
    """The verdict on every row of differences."""
    equal, above, below = (
        bets.verdicts([off], [1.0], SHARE, ends) == "pass"
        for ends in ((-margin, margin), (1e-12, np.inf), (-np.inf, -1e-12))
    )
    return np.where(equal, "equivalent", np.where(above, "better", np.where(below, "worse", "undecided")))


def differences(kind: str, truth: float, times: int, pairs: int) -> Any:
    """Differences of pairs of matches of ten rounds, or of two, or of matches that are all or nothing."""
    rng = np.random.default_rng([len(kind), int(10 * truth), pairs])
    chances = 0.6 + truth, 0.6
    one: Any
    two: Any
    if kind == "share of 10 rounds":
        one, two = (rng.binomial(10, rate, (times, pairs)) / 10 for rate in chances)
    elif kind == "all or nothing":
        one, two = ((rng.random((times, pairs)) < rate) * 1.0 for rate in chances)
    else:
        one, two = (rng.binomial(2, rate, (times, pairs)) / 2 for rate in chances)
    return one - two
