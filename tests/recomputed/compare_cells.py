"""Verdicts of `ostrom compare` on drawn pairs with a known difference: `python -m tests.recomputed.compare_cells`.

Its figures stand in docs/methods.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.recomputed import bets

MARGIN, PAIRS = 0.1, (20, 50, 100, 200, 400)
TRUTHS = (0.0, 0.1, 0.3)
WORDS = ("better", "worse", "equivalent")
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


def rates(times: int) -> Iterator[tuple[str, float, list[tuple[float, ...]]]]:
    """Kind of values, true difference, and the shares of better, worse and equivalent by the number of pairs."""
    for kind in ("share of 10 rounds", "all or nothing", "share of 2 rounds"):
        for truth in TRUTHS:
            shares = []
            for pairs in PAIRS:
                found = verdicts(differences(kind, truth, times, pairs), MARGIN)
                shares.append(tuple(float(np.mean(found == word)) for word in WORDS))
            yield kind, truth, shares


if __name__ == "__main__":
    for kind, truth, shares in rates(int(sys.argv[1]) if len(sys.argv) > 1 else 2000):
        cells = " | ".join(" / ".join(f"{s:.3f}".lstrip("0") if s < 1 else "1" for s in share) for share in shares)
        print(f"| {kind} | {truth:g} | {cells} |", flush=True)
