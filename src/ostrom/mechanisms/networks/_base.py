"""What a network is: neighbours of every member, drawn from a keyed stream.

The generators are our own: a network has to stay the same for as long as a run is kept, whatever version of a graph
library is installed, and none of them takes more than a few lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np

Links: TypeAlias = list[set[int]]
"""The neighbours of every member; always both ways, never oneself."""


class Network(Protocol):
    """A kind of network with its parameters."""

    def links(self, members: int, rng: np.random.Generator) -> Links:
        """The neighbours of each of so many members."""
        ...


def lattice(members: Sequence[int], degree: int) -> list[tuple[int, int]]:
    """The pairs of a ring in which everybody is linked to the nearest ``degree`` others.

    >>> lattice([5, 6, 7, 8], 2)
    [(5, 6), (6, 7), (7, 8), (8, 5)]
    """
    size = len(members)
    if not 2 <= degree < size or degree % 2:
        raise ValueError(f"degree must be even and from 2 to {size - 1} among {size} members, found {degree}")
    return [(members[i], members[(i + step) % size]) for step in range(1, degree // 2 + 1) for i in range(size)]


def linked(members: int, pairs: Sequence[tuple[int, int]]) -> Links:
    """The neighbours that pairs make."""
    found: Links = [set() for _ in range(members)]
    for one, other in pairs:
        found[one].add(other)
        found[other].add(one)
    return found


def rewire(links: Links, pairs: Sequence[tuple[int, int]], share: float, rng: np.random.Generator) -> None:
    """Lead each pair, with chance ``share``, from its first end to another of the members that occur in pairs."""
    inside = sorted({member for pair in pairs for member in pair})
    for one, other in pairs:
        if rng.random() >= share:
            continue
        free = [member for member in inside if member != one and member not in links[one]]
        if free:
            new = free[int(rng.integers(len(free)))]
            links[one].discard(other)
            links[other].discard(one)
            links[one].add(new)
            links[new].add(one)


def pairs_of(found: Links) -> list[tuple[int, int]]:
    """Every link once, in order.

    >>> pairs_of([{1}, {0, 2}, {1}])
    [(0, 1), (1, 2)]
    """
    return [(one, other) for one, around in enumerate(found) for other in sorted(around) if one < other]
