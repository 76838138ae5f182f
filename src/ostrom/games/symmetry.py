"""Which seats of a game could change places without anybody noticing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def interchangeable(
    actions: Sequence[Sequence[str]], payoffs: NDArray[np.float64], seat: int, other: int
) -> bool:
    """Whether two seats have the same actions and swapping them changes no payoff of anybody.

    >>> import numpy as np
    >>> pd = np.array([[[2, 2], [0, 3]], [[3, 0], [1, 1]]], dtype=float)
    >>> interchangeable((("c", "d"), ("c", "d")), pd, 0, 1)
    True
    """
    if tuple(actions[seat]) != tuple(actions[other]):
        return False
    order = list(range(len(actions)))
    order[seat], order[other] = order[other], order[seat]
    return bool(np.array_equal(payoffs.swapaxes(seat, other)[..., order], payoffs))


def symmetric(actions: Sequence[Sequence[str]], payoffs: NDArray[np.float64]) -> bool:
    """Whether all seats are interchangeable (neighbouring swaps generate every permutation)."""
    return all(interchangeable(actions, payoffs, s, s + 1) for s in range(len(actions) - 1))
