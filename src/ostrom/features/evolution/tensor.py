"""Mean scores per type and the payoff tensor that evolution runs on, computed from scored matches."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations

import numpy as np
import numpy.typing as npt

from ostrom.ground.errors import UsageError
from ostrom.ground.values import grouped


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A path of populations: ``states[t]`` at ``times[t]``; ``settled`` says whether it reached a rest point."""

    times: Floats
    states: Floats
    settled: bool

    @property
    def final(self) -> Floats:
        """Return the last population of the path."""
        return np.asarray(self.states[-1])

    @property
    def steps(self) -> int:
        """Return the number of steps between the first and the last population."""
        return len(self.states) - 1


Floats = npt.NDArray[np.float64]


def as_population(shares: npt.ArrayLike, types: int) -> Floats:
    """Return the shares as an array; refuse shares that are negative, not finite or do not sum to one.

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
    """Return a population in which every type has the same share.

    >>> uniform_start(4).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    if types < 1:
        raise UsageError(f"a population needs at least one type (found {types})")
    return np.full(types, 1.0 / types)


def random_start(types: int, rng: np.random.Generator, concentration: float = 1.0) -> Floats:
    """Return a population drawn from a Dirichlet distribution; concentration 1 is uniform on the simplex."""
    if concentration <= 0.0:
        raise UsageError(f"the Dirichlet concentration must be positive (found {concentration!r})")
    return rng.dirichlet(np.full(types, concentration))


def given_start(shares: Mapping[str, float], types: Sequence[str]) -> Floats:
    """Return a start from shares by name; types without a share start at zero.

    >>> given_start({"grim": 0.9, "defector": 0.1}, ["defector", "grim", "random"]).tolist()
    [0.1, 0.9, 0.0]
    """
    unknown = sorted(set(shares) - set(types))
    if unknown:
        raise UsageError(f"the start names unknown types: {', '.join(unknown)} (known: {', '.join(types)})")
    return as_population([shares.get(name, 0.0) for name in types], len(types))


# Limit on the cells of a tensor: a larger one describes a society in one match, not a tournament.
_MOST_CELLS = 2_000_000


@dataclass(frozen=True)
class ScoredMatch:
    """One match: which type sat on each seat and what each seat scored."""

    types: tuple[str, ...]
    scores: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.types) != len(self.scores) or not self.types:
            raise UsageError(f"a match needs one score per seat (found {len(self.scores)} for {len(self.types)} seats)")
        if not all(math.isfinite(score) for score in self.scores):
            raise UsageError(f"the scores of a match must be finite (found {self.scores})")


@dataclass(frozen=True, eq=False)
class PayoffTensor:
    """``values[i, j, ...]``: mean score of type i when the others are j, ...; ``counts``: scores behind each mean."""

    types: tuple[str, ...]
    values: Floats
    counts: npt.NDArray[np.int64]

    @property
    def players(self) -> int:
        """Return the number of seats of the game."""
        return self.values.ndim

    def fitness(self, population: npt.ArrayLike) -> Floats:
        """Return the expected score of each type in a population."""
        return fitness(self.values, as_population(population, len(self.types)))


def mean_scores(matches: Iterable[ScoredMatch]) -> dict[str, float]:
    """Mean score of each type over all its matches and seats (self-play counts once per seat).

    >>> mean_scores([ScoredMatch(("a", "a"), (2.0, 1.0)), ScoredMatch(("a", "b"), (0.0, 3.0))])
    {'a': 1.0, 'b': 3.0}
    """
    seen = grouped(pair for match in matches for pair in zip(match.types, match.scores, strict=True))
    return {name: math.fsum(scores) / len(scores) for name, scores in seen.items()}


def payoff_tensor(matches: Sequence[ScoredMatch], types: Sequence[str] | None = None) -> PayoffTensor:
    """Return the payoff tensor with seats pooled and opponents exchangeable; every cell must have been played.

    >>> played = [ScoredMatch(("a", "a"), (2.0, 1.0)), ScoredMatch(("a", "b"), (0.0, 3.0)),
    ...           ScoredMatch(("b", "a"), (2.0, 1.0)), ScoredMatch(("b", "b"), (1.0, 1.0))]
    >>> payoff_tensor(played).values.tolist()
    [[1.5, 0.5], [2.5, 1.0]]
    """
    if not matches:
        raise UsageError("no payoff tensor can be built from no matches")
    names = tuple(dict.fromkeys(name for match in matches for name in match.types) if types is None else types)
    if len(set(names)) != len(names):
        raise UsageError(f"type names must differ (found {', '.join(names)})")
    index = {name: i for i, name in enumerate(names)}
    players = len(matches[0].types)
    if len(names) ** players > _MOST_CELLS:
        raise UsageError(
            f"{len(names)} types on {players} seats have no payoff tensor ({len(names)}^{players} cells): "
            "a society that meets as a whole has means only"
        )
    cells: defaultdict[tuple[int, tuple[int, ...]], list[float]] = defaultdict(list)
    for number, match in enumerate(matches):
        if len(match.types) != players:
            raise UsageError(f"match {number} has {len(match.types)} seats, the first one has {players}")
        unknown = [name for name in match.types if name not in index]
        if unknown:
            raise UsageError(f"match {number} seats a type that is not listed: {unknown[0]}")
        seats = [index[name] for name in match.types]
        for seat, score in enumerate(match.scores):
            cells[seats[seat], tuple(sorted(seats[:seat] + seats[seat + 1 :]))].append(score)
    return _fill(names, players, cells)


def _fill(names: tuple[str, ...], players: int, cells: dict[tuple[int, tuple[int, ...]], list[float]]) -> PayoffTensor:
    shape = (len(names),) * players
    values, counts = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    missing: list[str] = []
    for focal in range(len(names)):
        for others in combinations_with_replacement(range(len(names)), players - 1):
            scores = cells.get((focal, others))
            if not scores:
                missing.append(f"{names[focal]} against {' + '.join(names[j] for j in others)}")
                continue
            mean = math.fsum(scores) / len(scores)
            for order in set(permutations(others)):
                values[(focal, *order)], counts[(focal, *order)] = mean, len(scores)
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise UsageError(f"{len(missing)} cells of the payoff tensor were never played: {'; '.join(missing[:3])}{more}")
    values.flags.writeable = counts.flags.writeable = False
    return PayoffTensor(names, values, counts)


def fitness(values: Floats, population: Floats) -> Floats:
    """Return f_i(x) = sum over j, ... of T[i, j, ...] x_j ... for one population, or for a stack of them (rows).

    >>> fitness(np.array([[2.0, 0.0], [3.0, 1.0]]), np.array([0.5, 0.5])).tolist()
    [1.0, 2.0]
    """
    if population.ndim == 1:
        out = values
        for _ in range(values.ndim - 1):
            out = out @ population
        return out
    # The last opponent is averaged for all rows in one product; the others row by row.
    stack: Floats = np.tensordot(population, values, axes=(1, values.ndim - 1))
    for _ in range(values.ndim - 2):
        column = population.reshape(len(population), *(1,) * (stack.ndim - 3), population.shape[1], 1)
        stack = (stack @ column)[..., 0]
    return stack


def as_tensor(values: npt.ArrayLike) -> Floats:
    """Return the array as a payoff tensor; refuse one not finite, equal-sided and symmetric in the opponents."""
    table = np.array(values, dtype=np.float64)
    if table.ndim < 2 or len(set(table.shape)) != 1 or table.shape[0] < 1:
        raise UsageError(f"a payoff tensor has one axis per seat, all of one length (found shape {table.shape})")
    if not np.all(np.isfinite(table)):
        raise UsageError("a payoff tensor must be finite: some cells were never played or overflowed")
    for axis in range(1, table.ndim - 1):
        if not np.allclose(table, np.swapaxes(table, axis, axis + 1), rtol=1e-9, atol=1e-12):
            raise UsageError("a payoff tensor must not depend on the order of the opponents")
    return table
