"""Communities: groups with many links inside and few between them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

from ostrom.ground.parameters import Count, Ge, Share, checked
from ostrom.mechanisms.networks._base import Links, lattice, linked, rewire

if TYPE_CHECKING:
    import numpy as np


class Communities:
    """``count`` small worlds of equal size (``degree``, ``rewired``) with ``bridges`` links between each two."""

    @checked
    def __init__(
        self,
        count: Count = 2,
        degree: Annotated[int, Ge(2)] = 4,
        rewired: Share = 0.3,
        bridges: Annotated[int, Ge(0)] = 2,
    ) -> None:
        self.count, self.degree, self.rewired, self.bridges = count, degree, float(rewired), bridges

    def links(self, members: int, rng: np.random.Generator) -> Links:
        """Members are numbered community by community."""
        bounds = [members * place // self.count for place in range(self.count + 1)]
        groups = [range(start, end) for start, end in pairwise(bounds)]
        inside = [lattice(group, self.degree) for group in groups]
        found = linked(members, [pair for pairs in inside for pair in pairs])
        for pairs in inside:
            rewire(found, pairs, self.rewired, rng)
        for place, group in enumerate(groups):
            for other in groups[place + 1 :]:
                free = [(a, b) for a in group for b in other]
                for i in rng.permutation(len(free))[: self.bridges]:
                    a, b = free[int(i)]
                    found[a].add(b)
                    found[b].add(a)
        return found


NETWORK = Communities
