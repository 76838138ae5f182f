"""Complete: everybody is a neighbour of everybody."""

import numpy as np

from ostrom.mechanisms.networks._base import Links


class Complete:
    """All are linked with all: a well-mixed society."""

    def links(self, members: int, rng: np.random.Generator) -> Links:  # noqa: ARG002
        """Everybody else."""
        return [set(range(members)) - {member} for member in range(members)]


NETWORK = Complete
