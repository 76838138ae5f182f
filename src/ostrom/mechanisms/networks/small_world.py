"""Small world: a ring some of whose links lead anywhere (Watts and Strogatz 1998)."""

from __future__ import annotations

import numpy as np

from ostrom.mechanisms.networks._base import Links, lattice, linked, rewire
from ostrom.mechanisms.parameters import share, whole


class SmallWorld:
    """A ring of ``degree`` whose links are led elsewhere with chance ``rewired``."""

    def __init__(self, degree: int = 4, rewired: float = 0.1) -> None:
        self.degree, self.rewired = whole("degree", degree, 2), share("rewired", rewired)

    def links(self, members: int, rng: np.random.Generator) -> Links:
        """As many links as the ring has."""
        pairs = lattice(range(members), self.degree)
        found = linked(members, pairs)
        rewire(found, pairs, self.rewired, rng)
        return found


NETWORK = SmallWorld
