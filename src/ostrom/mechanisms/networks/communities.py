"""Communities: groups with many links inside and few between them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ostrom.mechanisms.networks._base import Links, lattice, linked, rewire
from ostrom.mechanisms.parameters import share, whole


class Communities:
    """``count`` small worlds of equal size (``degree``, ``rewired``) with ``bridges`` links between each two."""

    def __init__(self, count: int = 2, degree: int = 4, rewired: float = 0.3, bridges: int = 2) -> None:
        self.count, self.degree = whole("count", count, 1), whole("degree", degree, 2)
        self.rewired, self.bridges = share("rewired", rewired), whole("bridges", bridges, 0)

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
