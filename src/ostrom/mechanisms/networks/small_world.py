"""Small world: a ring some of whose links lead anywhere (Watts and Strogatz 1998)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ostrom.ground.parameters import Ge, Share, checked
from ostrom.mechanisms.networks._base import Links, lattice, linked, rewire

if TYPE_CHECKING:
    import numpy as np


class SmallWorld:
    """A ring of ``degree`` whose links are led elsewhere with chance ``rewired``."""

    @checked
    def __init__(self, degree: Annotated[int, Ge(2)] = 4, rewired: Share = 0.1) -> None:
        self.degree, self.rewired = degree, float(rewired)

    def links(self, members: int, rng: np.random.Generator) -> Links:
        """As many links as the ring has."""
        pairs = lattice(range(members), self.degree)
        found = linked(members, pairs)
        rewire(found, pairs, self.rewired, rng)
        return found


NETWORK = SmallWorld
