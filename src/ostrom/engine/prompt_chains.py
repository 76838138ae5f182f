"""Prompts that go on from earlier ones are journaled as what is new in them.

A dialogue is sent as a whole with every call, so written down as a whole it would grow with the square of its turns.
A prompt that begins with an earlier one of the same player is written as ``{"from": [package, nth], "keep": n,
"then": [...]}``: the first n messages of that one, then these. Which earlier one is chosen as in skip lists, so that
a prompt of a chat of n turns is read in about log n steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

MOST_STEPS = 64
"""A prompt that takes more steps to read is no work of ours: chains of 2**64 prompts do not exist."""
_SAID = b'["assistant",'


class PromptChains:
    """Keeps the newest dialogue of every player that is being played, and where its prompts were written."""

    def __init__(self) -> None:
        self._chains: dict[tuple[int, int], tuple[list[Any], list[tuple[int, int, int]]]] = {}

    def written(self, unit: int, player: int, prompt: bytes, package: int, nth: int) -> bytes:
        """A prompt (a JSON list of messages) as it is written at a place of a package."""
        if _SAID not in prompt:
            return prompt
        messages = orjson.loads(prompt)
        newest, places = self._chains.get((unit, player), ([], []))
        same = _alike(newest, messages)
        places = [place for place in places if place[2] <= same]
        found = prompt
        if places:
            # As in skip lists: its number in the chain, without the lowest bit, is the one to go on from.
            *place, keep = places[len(places) & (len(places) - 1)]
            found = orjson.dumps({"from": place, "keep": keep, "then": messages[keep:]})
        self._chains[unit, player] = (messages, [*places, (package, nth, len(messages))])
        return found

    def forget(self, unit: int) -> None:
        """Drop what is kept of a unit that has ended."""
        for key in [key for key in self._chains if key[0] == unit]:
            del self._chains[key]


def _alike(one: list[Any], other: list[Any]) -> int:
    """How many messages two prompts begin with in common."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))


def whole(package: int, nth: int, read: Callable[[int], list[Any]]) -> list[list[str]]:
    """The messages of a prompt; ``read`` gives the prompts of a package as they are written.

    >>> packages = {1: [[["user", "a"], ["assistant", "b"]]], 2: [{"from": [1, 0], "keep": 2, "then": [["user", "c"]]}]}
    >>> whole(2, 0, packages.__getitem__)
    [['user', 'a'], ['assistant', 'b'], ['user', 'c']]
    """
    after: list[list[str]] = []
    keep: int | None = None
    for _ in range(MOST_STEPS):
        found = read(package)[nth]
        if isinstance(found, list):
            return [*found[:keep], *after]
        kept = found["then"] if keep is None else found["then"][: max(0, keep - found["keep"])]
        after = [*kept, *after]
        keep = found["keep"] if keep is None else min(keep, found["keep"])
        package, nth = found["from"]
    raise ValueError("a prompt goes on from too many others")
