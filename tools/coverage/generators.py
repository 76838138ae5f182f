"""Distributions with a known mean: values of matches as studies meet them, and some that no study should meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


@dataclass(frozen=True)
class Generator:
    """A name, a way to draw, the mean, and the bounds that are known."""

    name: str
    draw: Draw
    mean: float
    bounds: tuple[float | None, float | None] = (0.0, 1.0)


def beta(a: float, b: float, name: str = "") -> Generator:
    """Shares of a smooth kind."""
    return Generator(name or f"Beta({a:g}, {b:g})", lambda rng, size: rng.beta(a, b, size), a / (a + b))


def bernoulli(p: float) -> Generator:
    """Matches that are all or nothing."""
    return Generator(f"all or nothing, {p:g}", lambda rng, size: (rng.random(size) < p) * 1.0, p)


def two_points(high: float, low: float, p: float) -> Generator:
    """Two values, the first with chance p."""
    name = f"{high:g} or {low:g}, {p:g} : {1 - p:.2g}"
    return Generator(
        name, lambda rng, size: np.where(rng.random(size) < p, high, low), p * high + (1 - p) * low
    )


def spike(value: float, p: float) -> Generator:
    """One value with chance p, else anything."""
    return Generator(
        f"{value:g} with chance {p:g}, else uniform",
        lambda rng, size: np.where(rng.random(size) < p, value, rng.random(size)),
        p * value + (1 - p) / 2,
    )


def rounds(p: float, k: int = 10) -> Generator:
    """The share of k independent rounds."""
    return Generator(f"share of {k} rounds, {p:g}", lambda rng, size: rng.binomial(k, p, size) / k, p)


def modes(p: float) -> Generator:
    """Two smooth clusters, the lower with chance p: an unseen one is beyond any interval of bounded width."""
    return Generator(
        f"Beta(20, 2), else Beta(2, 20) with chance {p:g}",
        lambda rng, size: np.where(rng.random(size) < p, rng.beta(2, 20, size), rng.beta(20, 2, size)),
        p * 2 / 22 + (1 - p) * 20 / 22,
    )


def contaminated(a: float, share: float = 0.9) -> Generator:
    """Values near 1, and now and then one of any kind: what was not seen decides the mean."""
    return Generator(
        f"{share:g} Beta({a:g}, 1) + {1 - share:.2g} uniform",
        lambda rng, size: np.where(rng.random(size) < share, rng.beta(a, 1, size), rng.random(size)),
        share * a / (a + 1) + (1 - share) / 2,
    )


def odd_rounds() -> Generator:
    """Shares of 20 rounds; in one match of ten any chance of cooperation."""
    return Generator(
        "share of 20 rounds, 0.99 in 90 % of matches, else uniform",
        lambda rng, size: rng.binomial(20, np.where(rng.random(size) < 0.9, 0.99, rng.random(size))) / 20,
        0.9 * 0.99 + 0.05,
    )


ISSUED = (
    beta(5, 5), beta(1, 1, "uniform"), beta(0.5, 0.5, "U-shaped"), beta(9, 1), beta(20, 0.5),
    bernoulli(0.5), bernoulli(0.9), bernoulli(0.97),
    two_points(1, 0, 0.95), two_points(0.9, 0.3, 0.9), two_points(0.9, 0.3, 0.97), two_points(0.9, 0.3, 0.5),
    contaminated(60), odd_rounds(),
)  # fmt: skip
"""The rows that the aims are about."""

FURTHER = (
    beta(2, 5), beta(30, 3), beta(50, 50), beta(1, 30), beta(0.2, 0.2), beta(0.1, 0.9),
    rounds(0.9), rounds(0.5), spike(1, 0.7), spike(1, 0.9), bernoulli(0.99), contaminated(30),
    contaminated(60, 0.95), modes(0.15),
)  # fmt: skip

UNBOUNDED = (
    Generator("normal", lambda rng, size: rng.normal(0, 1, size), 0.0, (None, None)),
    Generator("t with 5 degrees", lambda rng, size: rng.standard_t(5, size), 0.0, (None, None)),
    Generator("exponential", lambda rng, size: rng.exponential(1, size), 1.0, (None, None)),
    Generator("exponential, at least 0", lambda rng, size: rng.exponential(1, size), 1.0, (0.0, None)),
    Generator(
        "lognormal, at least 0", lambda rng, size: rng.lognormal(0, 1, size), float(np.exp(0.5)), (0, None)
    ),
)

DIFFERENCES = (
    (0.5, 0.0, 0.5), (0.7, 0.0, 0.3), (0.8, 0.0, 0.2), (0.9, 0.0, 0.1), (0.97, 0.0, 0.03), (0.5, 0.5, 0.0),
    (0.9, 0.1, 0.0), (0.97, 0.03, 0.0), (0.1, 0.9, 0.0), (0.05, 0.9, 0.05), (0.8, 0.1, 0.1), (0.2, 0.6, 0.2),
)  # fmt: skip
"""Pairs of matches that are all or nothing: the chances of +1, 0 and -1."""
