"""Small games with known answers, shared by the tests of this room."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

Floats = npt.NDArray[np.float64]

DILEMMA = np.array([[2.0, 0.0], [3.0, 1.0]])
RPS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])


def hawk_dove(value: float, cost: float) -> Floats:
    """Hawk first; the interior rest point has value/cost hawks when value < cost."""
    return np.array([[(value - cost) / 2.0, value], [0.0, value / 2.0]])


def symmetrised(table: Floats) -> Floats:
    """The same numbers with opponents made exchangeable."""
    if table.ndim == 2:
        return table
    return (table + np.swapaxes(table, 1, 2)) / 2.0


def permuted(table: Floats, order: Sequence[int]) -> Floats:
    """The same game with its types listed in another order."""
    return table[np.ix_(*[list(order)] * table.ndim)]


@st.composite
def tensors(draw: st.DrawFn, players: Sequence[int] = (2, 3), types: tuple[int, int] = (2, 4)) -> Floats:
    """Payoff tensors with small multiples of 1/4, so that ties are frequent."""
    k = draw(st.integers(*types))
    n = draw(st.sampled_from(list(players)))
    cells = draw(st.lists(st.integers(-12, 12), min_size=k**n, max_size=k**n))
    return symmetrised(np.array(cells, dtype=np.float64).reshape((k,) * n) / 4.0)


@st.composite
def populations(draw: st.DrawFn, types: int, least: float = 0.0) -> Floats:
    """Points of the simplex."""
    raw = np.array(draw(st.lists(st.integers(0, 1000), min_size=types, max_size=types)), dtype=np.float64)
    raw = raw + least * 1000.0 + (1.0 if raw.sum() == 0.0 else 0.0)
    shares: Floats = raw / raw.sum()
    return shares
