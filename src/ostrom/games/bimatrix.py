"""Build two-seat games from a matrix of payoff pairs, the way papers print them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame

Matrix = Sequence[Sequence[tuple[float, float]]]


def bimatrix(
    name: str, actions: tuple[tuple[str, ...], tuple[str, ...]], matrix: Matrix, **facts: Any
) -> Game:
    """A two-seat game: ``matrix[i][j]`` is what seat 1 and seat 2 get when they play i and j.

    >>> game = bimatrix("toy", (("up", "down"), ("left", "right")), [[(1, 2), (3, 4)], [(5, 6), (7, 8)]])
    >>> game.payoff((1, 0))
    (5.0, 6.0)
    """
    return TensorGame(name, actions, np.array(matrix, dtype=np.float64), **facts)


def symmetric_2x2(
    name: str, actions: tuple[str, str], both: float, alone: float, other: float, neither: float, **facts: Any
) -> Game:
    """A symmetric 2x2 game from one seat's payoffs: both play the first action, I alone, the other, none."""
    matrix = [[(both, both), (alone, other)], [(other, alone), (neither, neither)]]
    return bimatrix(name, (actions, actions), matrix, **facts)
