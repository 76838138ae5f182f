"""Complete: everybody is a neighbour of everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostrom.mechanisms.networks._base import Links

if TYPE_CHECKING:
    import numpy as np


class Complete:
    """All are linked with all: a well-mixed society."""

    def links(self, members: int, rng: np.random.Generator) -> Links:  # noqa: ARG002
        """Everybody else."""
        return [set(range(members)) - {member} for member in range(members)]


NETWORK = Complete
