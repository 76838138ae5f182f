"""Networks: the neighbours in a society, drawn from a random stream.

The generators are our own: a network has to stay the same for as long as a run is kept, whatever version of a graph
library is installed, and none of them takes more than a few lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Protocol, TypeAlias

from ostrom.ground.parameters import Count, Ge, Share, checked
from ostrom.ground.registry import Registry

if TYPE_CHECKING:
    import numpy as np

Links: TypeAlias = list[set[int]]
"""The neighbours of every member; symmetric, without self-links."""


class Network(Protocol):
    """A kind of network with its parameters."""

    def links(self, members: int, rng: np.random.Generator) -> Links:
        """Return the neighbours of each member in a network of ``members`` members."""
        ...


def lattice(members: Sequence[int], degree: int) -> list[tuple[int, int]]:
    """Return the pairs of a ring in which everybody is linked to the ``degree`` nearest others.

    >>> lattice([5, 6, 7, 8], 2)
    [(5, 6), (6, 7), (7, 8), (8, 5)]
    """
    size = len(members)
    if not 2 <= degree < size or degree % 2:
        raise ValueError(f"degree must be even and from 2 to {size - 1} among {size} members, found {degree}")
    return [(members[i], members[(i + step) % size]) for step in range(1, degree // 2 + 1) for i in range(size)]


def linked(members: int, pairs: Sequence[tuple[int, int]]) -> Links:
    """Return the neighbours from pairs."""
    neighbours: Links = [set() for _ in range(members)]
    for one, other in pairs:
        neighbours[one].add(other)
        neighbours[other].add(one)
    return neighbours


def rewire(links: Links, pairs: Sequence[tuple[int, int]], share: float, rng: np.random.Generator) -> None:
    """With chance ``share``, redirect each pair from its second end to another member."""
    ring_members = sorted({member for pair in pairs for member in pair})
    for one, other in pairs:
        if rng.random() >= share:
            continue
        free = [member for member in ring_members if member != one and member not in links[one]]
        if free:
            new = free[int(rng.integers(len(free)))]
            links[one].discard(other)
            links[other].discard(one)
            links[one].add(new)
            links[new].add(one)


def pairs_of(found: Links) -> list[tuple[int, int]]:
    """Return every link once, in order.

    >>> pairs_of([{1}, {0, 2}, {1}])
    [(0, 1), (1, 2)]
    """
    return [(one, other) for one, neighbours in enumerate(found) for other in sorted(neighbours) if one < other]


class Complete:
    """All are linked with all: a well-mixed society."""

    def links(self, members: int, rng: np.random.Generator) -> Links:  # noqa: ARG002
        """Return everybody else for each member."""
        return [set(range(members)) - {member} for member in range(members)]


class Ring:
    """A circle on which everybody is linked to the ``degree`` nearest others, half of them on either side."""

    @checked
    def __init__(self, degree: Annotated[int, Ge(2)] = 4) -> None:
        self.degree = degree

    def links(self, members: int, rng: np.random.Generator) -> Links:  # noqa: ARG002
        """Return the links of a ring; the random generator is not used."""
        return linked(members, lattice(range(members), self.degree))


class SmallWorld:
    """A ring of ``degree`` whose links are led elsewhere with chance ``rewired`` (Watts and Strogatz 1998)."""

    @checked
    def __init__(self, degree: Annotated[int, Ge(2)] = 4, rewired: Share = 0.1) -> None:
        self.degree, self.rewired = degree, float(rewired)

    def links(self, members: int, rng: np.random.Generator) -> Links:
        """Return the links of a ring, each redirected with chance ``rewired``; their number is constant."""
        pairs = lattice(range(members), self.degree)
        neighbours = linked(members, pairs)
        rewire(neighbours, pairs, self.rewired, rng)
        return neighbours


class ScaleFree:
    """Members join one by one and link to ``joins`` others, in proportion to their links (Barabási and Albert 1999)."""

    @checked
    def __init__(self, joins: Count = 2) -> None:
        self.joins = joins

    def links(self, members: int, rng: np.random.Generator) -> Links:
        """Return the links; the first ``joins`` + 1 members are all linked with each other."""
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
        """Return the links; members are numbered community by community."""
        groups = [
            range(start, end)
            for start, end in pairwise([members * place // self.count for place in range(self.count + 1)])
        ]
        inside = [lattice(group, self.degree) for group in groups]
        neighbours = linked(members, [pair for pairs in inside for pair in pairs])
        for pairs in inside:
            rewire(neighbours, pairs, self.rewired, rng)
        for place, group in enumerate(groups):
            for other in groups[place + 1 :]:
                free = [(a, b) for a in group for b in other]
                for i in rng.permutation(len(free))[: self.bridges]:
                    a, b = free[int(i)]
                    neighbours[a].add(b)
                    neighbours[b].add(a)
        return neighbours


networks: Registry[Network] = Registry(
    "network",
    None,
    "NETWORK",
    "ostrom.networks",
    folder="networks",
    code="ostrom.ground.python_files",
    table={
        "complete": "ostrom.mechanisms.networks:Complete",
        "ring": "ostrom.mechanisms.networks:Ring",
        "small_world": "ostrom.mechanisms.networks:SmallWorld",
        "scale_free": "ostrom.mechanisms.networks:ScaleFree",
        "communities": "ostrom.mechanisms.networks:Communities",
    },
)
