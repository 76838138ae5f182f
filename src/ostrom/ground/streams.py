"""Random streams keyed by (seed, match, step, seat): draws depend on what is drawn, never on when."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@lru_cache(maxsize=16384)
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
    >>> bool(streams.generator(3, 0).random() == streams.generator(3, 0).random() != streams.generator(3, 1).random())
    True
    """

    seed: int
    match: int
    origin: Streams | None = None
    """The streams of the original match, if this one is a fork."""
    since: int = 0
    """The first round that this match plays itself."""

    def generator(self, step: int, seat: int = 0, purpose: str = "") -> np.random.Generator:
        """Return a new generator for one draw; ``purpose`` separates several draws at the same place."""
        import numpy as np

        words = [self.seed & _MASK, self.match & _MASK, step, seat]
        if purpose:
            words.append(key_of(purpose))
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))

    def chance(self, step: int, seat: int = 0, purpose: str = "") -> float:
        """Return one number in [0, 1): much cheaper than a generator, and available for arrays.

        It is the output of SplitMix64 (Steele et al. 2014) at a position given by step and seat, from a root
        that the same mixing makes of seed, match and purpose.

        >>> Streams(1, 7).chance(3) == Streams(1, 7).chance(3) != Streams(1, 7).chance(3, 1)
        True
        """
        return (_mixed(self.base_key(purpose) + _GOLDEN * ((step << 16) + seat + 1) & _MASK) >> 11) * 2.0**-53

    def base_key(self, purpose: str = "") -> int:
        """Return the base key of one purpose, from which its numbers are computed."""
        seeded = _mixed((self.seed + _GOLDEN) & _MASK)
        return _mixed((_mixed((seeded + self.match) & _MASK) + key_of(purpose)) & _MASK)

    def for_round(self, number: int, seat: int = 0, purpose: str = "") -> np.random.Generator:
        """Return the generator of a round: for rounds before a fork, that of the original match."""
        if self.origin is not None and number < self.since:
            return self.origin.for_round(number, seat, purpose)
        return self.generator(number, seat, purpose)

    # The names that mechanisms of outside packages call since 1.0.
    at, about, root = generator, for_round, base_key


def chances(roots: NDArray[np.uint64], step: int, seat: int) -> NDArray[np.float64]:
    """Return ``Streams.chance`` for many matches at once, from their base keys.

    >>> one = Streams(5, 9)
    >>> import numpy as np
    >>> float(chances(np.array([one.base_key("x")], dtype=np.uint64), 3, 1)[0]) == one.chance(3, 1, "x")
    True
    """
    import numpy as np

    return _numbers(roots + np.uint64(_GOLDEN * ((step << 16) + seat + 1) & _MASK))


def chances_along(root: int, steps: NDArray[np.int64], seat: int) -> NDArray[np.float64]:
    """Return ``Streams.chance`` at many steps of one match, from its base key.

    >>> one = Streams(5, 9)
    >>> import numpy as np
    >>> float(chances_along(one.base_key("x"), np.array([3]), 1)[0]) == one.chance(3, 1, "x")
    True
    """
    import numpy as np

    places = (steps.astype(np.uint64) << np.uint64(16)) + np.uint64(seat + 1)
    return _numbers(places * np.uint64(_GOLDEN) + np.uint64(root))


def _numbers(x: NDArray[np.uint64]) -> NDArray[np.float64]:
    import numpy as np

    x = (x ^ (x >> np.uint64(30))) * np.uint64(_FIRST)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_SECOND)
    x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53


_MASK = (1 << 64) - 1
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def _mixed(x: int) -> int:
    x = (x ^ (x >> 30)) * _FIRST & _MASK
    x = (x ^ (x >> 27)) * _SECOND & _MASK
    return x ^ (x >> 31)
