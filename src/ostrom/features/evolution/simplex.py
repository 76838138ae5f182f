"""Populations as points of the simplex: checks, the three kinds of start (uniform, random, given), and whole paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ostrom.ground.errors import UsageError


@dataclass(frozen=True, eq=False)
class Trajectory:
    """``states[t]`` is the population at ``times[t]``; ``settled`` says whether it came to rest."""

    times: Floats
    states: Floats
    settled: bool

    @property
    def final(self) -> Floats:
        """The last population."""
        last: Floats = self.states[-1]
        return last

    @property
    def steps(self) -> int:
        """Number of moves made."""
        return len(self.states) - 1


Floats = npt.NDArray[np.float64]


def as_population(shares: npt.ArrayLike, types: int) -> Floats:
    """The shares as an array, refused unless they are finite, non-negative and sum to one.

    >>> as_population([0.25, 0.75], 2).tolist()
    [0.25, 0.75]
    """
    x = np.array(shares, dtype=np.float64)
    if x.shape != (types,):
        raise UsageError(f"a population of {types} types needs {types} shares (found shape {x.shape})")
    if not np.all(np.isfinite(x)) or np.any(x < 0.0):
        raise UsageError(f"population shares must be finite and not negative (found {x.tolist()})")
    if abs(float(x.sum()) - 1.0) > 1e-9:
        raise UsageError(f"population shares must sum to 1 (found {float(x.sum())!r})")
    return x


def uniform_start(types: int) -> Floats:
    """Every type equally frequent.

    >>> uniform_start(4).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    if types < 1:
        raise UsageError(f"a population needs at least one type (found {types})")
    return np.full(types, 1.0 / types)


def random_start(types: int, rng: np.random.Generator, concentration: float = 1.0) -> Floats:
    """A Dirichlet draw; concentration 1 is uniform on the simplex."""
    if concentration <= 0.0:
        raise UsageError(f"the Dirichlet concentration must be positive (found {concentration!r})")
    return rng.dirichlet(np.full(types, concentration))


def given_start(shares: Mapping[str, float], types: Sequence[str]) -> Floats:
    """A start stated by name; types that are not named start at zero.

    >>> given_start({"grim": 0.9, "defector": 0.1}, ["defector", "grim", "random"]).tolist()
    [0.1, 0.9, 0.0]
    """
    unknown = sorted(set(shares) - set(types))
    if unknown:
        raise UsageError(f"the start names unknown types: {', '.join(unknown)} (known: {', '.join(types)})")
    return as_population([shares.get(name, 0.0) for name in types], len(types))
