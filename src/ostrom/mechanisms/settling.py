"""Settling: how many members of each type a society has, and where on its network they live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np

from ostrom.ground.errors import StudyError
from ostrom.ground.parameters import Ge, options_of
from ostrom.ground.values import value
from ostrom.mechanisms.networks import Links


@value
class Plant:
    """``count`` members of one ``type`` who are put in among the others: where chance wills, at the places with most
    links, or next to each other."""

    type: str
    count: Annotated[int, Ge(0)] = 1
    at: Literal["anywhere", "hubs", "cluster"] = "anywhere"

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> Self | None:
        """As a study states it."""
        return None if given is None else options_of(cls, given, "plant")


def population(
    names: Sequence[str], seats: int, members: int | Mapping[str, int] | None, plant: Plant | None
) -> list[str]:
    """The type of every member, those who are planted last.

    >>> population(["a", "b", "bad"], 2, 6, Plant("bad", 2))
    ['a', 'a', 'b', 'b', 'bad', 'bad']
    """
    asked = [*members] if isinstance(members, Mapping) else []
    for name in (*asked, *([plant.type] if plant else [])):
        if name not in names:
            key = "mechanism.members" if name in asked else "mechanism.plant.type"
            raise StudyError("names no type of the study", key=key, found=name, allowed=list(names))
    planted = [plant.type] * plant.count if plant else []
    if isinstance(members, Mapping):
        return [name for name in names for _ in range(members.get(name, 0))] + planted
    others = [name for name in names if plant is None or name != plant.type] or list(names)
    total = (len(others) * seats if members is None else members) - len(planted)
    if total < 0:
        raise StudyError(
            "are more than the society has members", key="mechanism.plant.count", found=len(planted)
        )
    bounds = [total * place // len(others) for place in range(len(others) + 1)]
    return [
        name for name, a, b in zip(others, bounds, bounds[1:], strict=False) for _ in range(b - a)
    ] + planted


def homes(links: Links, plant: Plant | None, shuffled: bool, rng: np.random.Generator) -> list[int]:
    """The place of every member on the network: planted ones, who come last, as the plant says."""
    count = len(links)
    planted = plant.count if plant else 0
    order = [int(place) for place in rng.permutation(count)]
    rank = {place: i for i, place in enumerate(order)}
    taken: list[int] = order[:planted]
    if plant is not None and plant.at == "hubs":
        taken = sorted(range(count), key=lambda place: (-len(links[place]), rank[place]))[:planted]
    elif plant is not None and plant.at == "cluster" and planted:
        taken = _nearest(links, order, planted)
    free = [place for place in (order if shuffled else range(count)) if place not in taken]
    return free + taken


def _nearest(links: Links, order: Sequence[int], wanted: int) -> list[int]:
    """Places next to each other, from the first in the order on; where a component ends, the next one begins."""
    found: dict[int, None] = {}
    for start in order:
        queue = [start]
        while queue and len(found) < wanted:
            place = queue.pop(0)
            if place not in found:
                found[place] = None
                queue += sorted(links[place] - found.keys())
    return [*found][:wanted]


def settled(links: Links, homes: Sequence[int]) -> Links:
    """The neighbours of every member, given where each lives.

    >>> settled([{1}, {0, 2}, {1}], [2, 0, 1])
    [{2}, {2}, {0, 1}]
    """
    lives = {place: member for member, place in enumerate(homes)}
    return [{lives[place] for place in links[home]} for home in homes]
