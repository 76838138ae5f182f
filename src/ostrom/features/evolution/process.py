"""What every finite-population process offers: its bias in a two-type population and one random step."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ostrom.features.evolution.simplex import Floats


class Process(Protocol):
    """A birth-death process on counts of types."""

    def log_ratio(self, mutant: Floats, resident: Floats) -> Floats:
        """log(T-/T+) at 1..N-1 mutants, from the payoffs of both types there."""
        ...

    def step(self, counts: Floats, payoffs: Floats, rng: np.random.Generator) -> tuple[int, int]:
        """One event: (type that loses an individual, type that gains one)."""
        ...


def draw(weights: Floats, rng: np.random.Generator) -> int:
    """Index drawn in proportion to the weights; one uniform number is used."""
    edges = np.cumsum(weights)
    place = int(np.searchsorted(edges, rng.random() * edges[-1], side="right"))
    # Rounding can put the draw on the last edge; the last index with weight is meant then.
    return min(place, int(np.flatnonzero(weights)[-1]))
