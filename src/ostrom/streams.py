"""Randomness that depends on what is drawn, never on when: streams keyed by (seed, match, step, seat)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np


def key_of(text: str) -> int:
    """A stable 64-bit number for a text, the same in every process and on every machine.

    >>> key_of("tremble") == key_of("tremble") != key_of("sample")
    True
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class Streams:
    """All random streams of one match.

    >>> streams = Streams(seed=1, match=7)
    >>> bool(streams.at(3, 0).random() == streams.at(3, 0).random() != streams.at(3, 1).random())
    True
    """

    seed: int
    match: int
    origin: Streams | None = None
    """The streams of the match that this one goes on from, where it is a fork."""
    since: int = 0
    """The first round that is this match's own."""

    def at(self, step: int, seat: int = 0, purpose: str = "") -> np.random.Generator:
        """A fresh generator for one draw site; ``purpose`` separates several draws at the same place."""
        words = [self.seed & _MASK, self.match & _MASK, step, seat]
        if purpose:
            words.append(key_of(purpose))
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))


    def about(self, number: int, seat: int = 0, purpose: str = "") -> np.random.Generator:
        """A draw about a round, whenever it is made: for the rounds before a fork, that of the origin."""
        if self.origin is not None and number < self.since:
            return self.origin.about(number, seat, purpose)
        return self.at(number, seat, purpose)


_MASK = (1 << 64) - 1
