"""Ring: everybody is linked to the nearest members on a circle."""

from __future__ import annotations

import numpy as np

from ostrom.mechanisms.networks._base import Links, lattice, linked
from ostrom.mechanisms.parameters import whole


class Ring:
    """A circle on which everybody is linked to the ``degree`` nearest others, half of them on either side."""

    def __init__(self, degree: int = 4) -> None:
        self.degree = whole("degree", degree, 2)

    def links(self, members: int, rng: np.random.Generator) -> Links:  # noqa: ARG002
        """The same for every seed."""
        return linked(members, lattice(range(members), self.degree))


NETWORK = Ring
