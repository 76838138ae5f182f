"""Which cell somebody is assigned to: the one with the fewest people, with a share of draws at random.

*Completed + under way* counts, so that cells stay balanced when more people leave some conditions than others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def choose_cell(
    occupied: Sequence[int], quota: int, rule: str, coin: float, rng: np.random.Generator
) -> int | None:
    """The cell of the next person, or None where every cell has all its people.

    >>> choose_cell([3, 2, 5], 5, "least_filled", 0.0, np.random.default_rng(0))
    1
    >>> choose_cell([5, 5], 5, "least_filled", 0.2, np.random.default_rng(0)) is None
    True
    """
    free = [cell for cell, count in enumerate(occupied) if count < quota]
    if not free:
        return None
    at_random = rng.random() < coin
    if rule == "least_filled" and not at_random:
        fewest = min(occupied[cell] for cell in free)
        free = [cell for cell in free if occupied[cell] == fewest]
    return free[int(rng.integers(len(free)))]
