"""Ring: everybody is linked to the nearest members on a circle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ostrom.ground.parameters import Ge, checked
from ostrom.mechanisms.networks._base import Links, lattice, linked

if TYPE_CHECKING:
    import numpy as np


class Ring:
    """A circle on which everybody is linked to the ``degree`` nearest others, half of them on either side."""

    @checked
    def __init__(self, degree: Annotated[int, Ge(2)] = 4) -> None:
        self.degree = degree

    def links(self, members: int, rng: np.random.Generator) -> Links:  # noqa: ARG002
        """The same for every seed."""
        return linked(members, lattice(range(members), self.degree))


NETWORK = Ring
