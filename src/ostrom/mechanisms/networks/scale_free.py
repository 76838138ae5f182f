"""Scale-free: newcomers link to those who have many links already (Barabási and Albert 1999)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostrom.ground.parameters import Count, checked
from ostrom.mechanisms.networks._base import Links, linked

if TYPE_CHECKING:
    import numpy as np


class ScaleFree:
    """Members join one by one and link to ``joins`` others, each in proportion to the links it has."""

    @checked
    def __init__(self, joins: Count = 2) -> None:
        self.joins = joins

    def links(self, members: int, rng: np.random.Generator) -> Links:
        """The first ``joins`` + 1 members are linked with each other."""
        first = self.joins + 1
        if members < first:
            raise ValueError(f"joins must be below the number of members ({members}), found {self.joins}")
        pairs = [(one, other) for one in range(first) for other in range(one + 1, first)]
        ends = [end for pair in pairs for end in pair]
        for new in range(first, members):
            chosen: list[int] = []
            while len(chosen) < self.joins:
                drawn = ends[int(rng.integers(len(ends)))]
                if drawn not in chosen:
                    chosen.append(drawn)
            pairs += [(old, new) for old in chosen]
            ends += [*chosen, *[new] * len(chosen)]
        return linked(members, pairs)


NETWORK = ScaleFree
