"""Distributions with a known mean: values of matches as studies meet them, and some that no study should meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ostrom.ground.streams import key_of

Array = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


@dataclass(frozen=True)
class Generator:
    """A name, a way to draw, the mean, and the bounds that are known."""

    name: str
    draw: Draw
    mean: float
    rare: float | None = None
    """The chance of its rare part, which a sample may not show."""


def beta(a: float, b: float, name: str = "") -> Generator:
    """Shares of a smooth kind."""
    return Generator(name or f"Beta({a:g}, {b:g})", lambda rng, size: rng.beta(a, b, size), a / (a + b))


def bernoulli(p: float) -> Generator:
    """Matches that are all or nothing."""
    return Generator(f"all or nothing, {p:g}", lambda rng, size: (rng.random(size) < p).astype(np.float64), p)


def rounds(p: float, k: int = 10) -> Generator:
    """The share of k independent rounds."""
    return Generator(
        f"share of {k} rounds, {p:g}", lambda rng, size: np.asarray(rng.binomial(k, p, size) / k, dtype=np.float64), p
    )


def contaminated(a: float, share: float = 0.9) -> Generator:
    """Values near 1, and now and then one of any kind: what was not seen decides the mean."""
    return Generator(
        f"{share:g} Beta({a:g}, 1) + {1 - share:.2g} uniform",
        lambda rng, size: np.where(rng.random(size) < share, rng.beta(a, 1, size), rng.random(size)),
        share * a / (a + 1) + (1 - share) / 2,
    )


def rarely(chance: float, usual: Generator, other: Generator) -> Generator:
    """Now and then a match of another kind."""
    return Generator(
        f"{usual.name}, {other.name} with chance {chance:g}",
        lambda rng, size: np.where(rng.random(size) < chance, other.draw(rng, size), usual.draw(rng, size)),
        chance * other.mean + (1 - chance) * usual.mean,
        chance,
    )


def rng_for(*words: object) -> np.random.Generator:
    """A generator of its own for every cell of a table."""
    return np.random.default_rng(key_of(" ".join(map(str, words))))


TAME = (
    beta(5, 5), beta(1, 1, "uniform"), beta(2, 5), rounds(0.5), beta(50, 50), rounds(0.8, 50), beta(30, 10),
)  # fmt: skip
"""Values for which Student's t covers what it says."""
HARD = (
    beta(9, 1), beta(20, 0.5), beta(0.5, 0.5, "U-shaped"), rounds(0.97, 20), beta(1, 30), beta(0.2, 0.2),
    Generator("fourth power of a uniform", lambda rng, size: rng.random(size) ** 4, 0.2),
)  # fmt: skip
RARE = tuple(
    rarely(chance, usual, other)
    for chance in (0.1, 0.3)
    for usual, other in ((beta(60, 1), beta(1, 1, "uniform")), (beta(20, 2), beta(2, 20)), (beta(50, 50), beta(2, 20)))
)
"""Matches that break down now and then: what a sample does not show, only the bounds know."""
