"""Finite populations: expected payoffs, the processes that change them, and their simulation.

Opponents are drawn without replacement, never oneself. A process has a bias in a population of two types and makes
one random step: pairwise comparison with the Fermi rule (Blume, 1993; Traulsen, Nowak & Pacheco, 2006), or the Moran
process with frequency-dependent fitness (Moran, 1958; Nowak et al., 2004). Simulation takes any number of types, with
or without mutation.

Deviation rating: the gain from deviating to a type in the strictest coarse correlated equilibrium (Marris et al., 2024,
"Deviation Ratings: a general, clone-invariant rating method"). That equilibrium is the joint distribution over profiles
under which the largest gain from committing to one type beforehand is as small as possible, then the next largest, and
so on. A rating is never above 0; higher is better.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, pairwise, permutations
from math import comb
from typing import Literal

import numpy as np
import numpy.typing as npt

from ostrom.features.evolution.tensor import Floats, Trajectory, as_tensor
from ostrom.ground.errors import UsageError


def draw(weights: Floats, rng: np.random.Generator) -> int:
    """Return an index drawn in proportion to the weights; the draw uses one uniform random number."""
    edges = np.cumsum(weights)
    # Rounding can move the draw past the last edge; then the last index with weight is used.
    return min(int(np.searchsorted(edges, rng.random() * edges[-1], side="right")), int(np.flatnonzero(weights)[-1]))


Counts = tuple[int, ...]


def finite_payoffs(table: Floats, counts: Counts) -> Floats:
    """Return the expected payoff of each type in a population of valid ``counts``; nan for an absent type.

    >>> finite_payoffs(np.array([[2.0, 0.0], [3.0, 1.0]]), (2, 2)).round(6).tolist()
    [0.666667, 2.333333]
    """
    out = np.full(len(table), np.nan)
    for focal, present in enumerate(counts):
        if present:
            others = list(counts)
            others[focal] -= 1
            out[focal] = _mean_over_draws(table[focal], others, sum(others))
    return out


def _mean_over_draws(table: Floats, left: list[int], size: int) -> float:
    total = 0.0
    for j, count in enumerate(left):
        if not count:
            continue
        if table.ndim == 1:
            total += count * float(table[j])
        else:
            left[j] -= 1
            total += count * _mean_over_draws(table[j], left, size - 1)
            left[j] += 1
    return total / size


def pair_payoffs(table: Floats, mutant: int, resident: int, population: int) -> tuple[Floats, Floats]:
    """Payoffs of mutant and resident with 1..N-1 mutants among N, in closed form (hypergeometric draws)."""
    others = table.ndim - 1

    def mean(focal: int, mutants: int) -> float:
        residents = population - 1 - mutants
        return sum(
            comb(mutants, h)
            * comb(residents, others - h)
            / comb(population - 1, others)
            * float(table[(focal, *(mutant,) * h, *(resident,) * (others - h))])
            for h in range(others + 1)
        )

    present = range(1, population)
    return (np.array([mean(mutant, j - 1) for j in present]), np.array([mean(resident, j) for j in present]))


def check_counts(table: Floats, counts: Counts) -> None:
    """Refuse counts that do not fit the tensor or are too few to fill the seats of one match."""
    if len(counts) != len(table) or any(count < 0 for count in counts):
        raise UsageError(f"a population of {len(table)} types needs {len(table)} counts >= 0 (found {counts})")
    check_size(table, sum(counts))


def check_size(table: Floats, population: int) -> None:
    """Refuse a population in which no match can be seated or nobody can be replaced."""
    least = max(2, table.ndim)
    if population < least:
        raise UsageError(f"a game of {table.ndim} seats needs a population of {least} or more (found {population})")


@dataclass(frozen=True)
class Fermi:
    """A random individual copies another one with probability 1 / (1 + exp(-beta (model - own payoff)))."""

    beta: float

    def __post_init__(self) -> None:
        if self.beta < 0.0:
            raise UsageError(f"the Fermi intensity beta must not be negative (found {self.beta})")

    def log_ratio(self, mutant: Floats, resident: Floats) -> Floats:
        """log(T-/T+) = -beta (payoff of the mutant - payoff of the resident)."""
        return -self.beta * (mutant - resident)

    def copying(self, own: float, model: float) -> float:
        """Probability of copying the model.

        >>> Fermi(1.0).copying(2.0, 2.0)
        0.5
        """
        gap = self.beta * (model - own)
        # Each branch takes exp() of a number <= 0, so strong selection cannot overflow.
        return float(1.0 / (1.0 + np.exp(-gap))) if gap >= 0.0 else float(np.exp(gap) / (1.0 + np.exp(gap)))

    def step(self, counts: Floats, payoffs: Floats, rng: np.random.Generator) -> tuple[int, int]:
        """Compare two different individuals; return the type that loses and the type that gains an individual."""
        own = draw(counts, rng)
        others = counts.copy()
        others[own] -= 1
        model = draw(others, rng)
        return own, model if rng.random() < self.copying(float(payoffs[own]), float(payoffs[model])) else own


@dataclass(frozen=True)
class Moran:
    """Birth in proportion to fitness, death at random.

    Fitness of payoff p: ``linear`` 1 - w + w p (needs positive fitness), ``exponential`` exp(w p).
    """

    selection: float
    mapping: Literal["linear", "exponential"] = "linear"

    def __post_init__(self) -> None:
        if self.mapping not in ("linear", "exponential"):
            raise UsageError(f"unknown fitness mapping {self.mapping!r} (allowed: linear, exponential)")
        if self.selection < 0.0 or (self.mapping == "linear" and self.selection > 1.0):
            raise UsageError(
                f"Moran selection must be >= 0, and at most 1 with linear fitness (found {self.selection})"
            )

    def log_fitness(self, payoffs: Floats) -> Floats:
        """Logarithm of fitness; absent types (nan) stay nan.

        >>> Moran(0.5).log_fitness(np.array([1.0])).tolist()
        [0.0]
        """
        if self.mapping == "exponential":
            return self.selection * payoffs
        raw = 1.0 - self.selection + self.selection * payoffs
        if np.any(raw <= 0.0):
            raise UsageError(
                f"linear Moran fitness must be positive (found {float(np.nanmin(raw))!r} at selection "
                f"{self.selection}); lower the selection or use the exponential mapping"
            )
        return np.asarray(np.log(raw))

    def log_ratio(self, mutant: Floats, resident: Floats) -> Floats:
        """log(T-/T+) = log fitness of the resident minus that of the mutant."""
        return self.log_fitness(resident) - self.log_fitness(mutant)

    def step(self, counts: Floats, payoffs: Floats, rng: np.random.Generator) -> tuple[int, int]:
        """Draw one birth and one death; return the dying type and the born type. The newborn's parent may die too."""
        logs = self.log_fitness(payoffs)
        present = counts > 0
        weights = np.where(present, counts * np.exp(np.where(present, logs - np.nanmax(logs), 0.0)), 0.0)
        born = draw(weights, rng)
        return draw(counts, rng), born


Process = Fermi | Moran
"""A birth-death process on counts of types: log(T-/T+) from payoffs of both types, and the draw of one event."""


def simulate(
    values: npt.ArrayLike,
    process: Process,
    start: Counts,
    rng: np.random.Generator,
    *,
    steps: int,
    mutation: float = 0.0,
) -> Trajectory:
    """Return the shares after every event; without mutation the path ends (settled) when one type is alone.

    With probability ``mutation`` the event's newcomer is instead one of the other types, uniformly.
    """
    table = as_tensor(values)
    check_counts(table, start)
    if steps < 0 or not 0.0 <= mutation <= 1.0:
        raise UsageError(f"a simulation needs steps >= 0 and mutation in [0, 1] (found {steps}, {mutation})")
    states = [start]
    # A path returns to the same counts often, so their payoffs are cached.
    payoffs = lru_cache(maxsize=100_000)(lambda counts: finite_payoffs(table, counts))
    while len(states) <= steps and not (mutation == 0.0 and _alone(states[-1])):
        states.append(_event(states[-1], process, payoffs, rng, mutation))
    shares = np.array(states, dtype=np.float64) / sum(start)
    return Trajectory(np.arange(len(states), dtype=np.float64), shares, mutation == 0.0 and _alone(states[-1]))


def _alone(counts: Counts) -> bool:
    return max(counts) == sum(counts)


def _event(
    state: Counts, process: Process, payoffs: Callable[[Counts], Floats], rng: np.random.Generator, mutation: float
) -> Counts:
    gone, born = process.step(np.array(state, dtype=np.float64), payoffs(state), rng)
    if mutation and len(state) > 1 and rng.random() < mutation:
        other = int(rng.integers(len(state) - 1))
        born = other if other < born else other + 1
    after = list(state)
    after[gone] -= 1
    after[born] += 1
    return tuple(after)


def log_fixation(log_ratios: npt.ArrayLike, mutants: int = 1) -> float:
    """log of the chance that ``mutants`` take over, from log(T-/T+) at 1..N-1 (Karlin & Taylor, 1975).

    >>> round(math.exp(log_fixation([0.0, 0.0, 0.0])), 12)
    0.25
    """
    ratios = np.asarray(log_ratios, dtype=np.float64)
    if not 0 < mutants <= len(ratios):
        raise UsageError(f"mutants must number 1 to {len(ratios)} (found {mutants})")
    terms = np.concatenate([[0.0], np.cumsum(ratios)])
    return log_sum(terms[:mutants]) - log_sum(terms)


def log_sum(logs: Floats) -> float:
    """Return log(sum(exp(logs))) without overflow; -inf for an empty array."""
    top = float(np.max(logs, initial=-math.inf))
    return top if top == -math.inf else top + math.log(float(np.sum(np.exp(logs - top))))


def stationary(log_rates: npt.ArrayLike) -> Floats:
    """Return the stationary distribution of a chain; the diagonal is ignored, -inf means no transition.

    State reduction without subtractions (Grassmann, Taksar & Heyman, 1985), carried out on logarithms:
    rates as small as exp(-10000), usual under strong selection, still decide between states as they should.

    >>> stationary([[0.0, math.log(0.1)], [math.log(0.3), 0.0]]).round(12).tolist()
    [0.75, 0.25]
    """
    logs = np.array(log_rates, dtype=np.float64)
    size = len(logs)
    if logs.shape != (size, size) or size < 1 or np.any(np.isnan(logs)):
        raise UsageError(f"a chain needs a square matrix of rates without nan (found shape {logs.shape})")
    np.fill_diagonal(logs, -math.inf)
    for last in range(size - 1, 0, -1):
        out = log_sum(logs[last, :last])
        if out == -math.inf:
            raise UsageError("the chain has no unique stationary distribution: some states never lead to others")
        logs[:last, last] -= out
        logs[:last, :last] = np.logaddexp(logs[:last, :last], logs[:last, last][:, None] + logs[last, :last][None, :])
    weights = np.full(size, -math.inf)
    weights[0] = 0.0
    for state in range(1, size):
        weights[state] = log_sum(weights[:state] + logs[:state, state])
    shares = np.exp(weights - log_sum(weights))
    return np.asarray(shares / shares.sum())


def log_invasion_rates(values: npt.ArrayLike, process: Process, population: int) -> Floats:
    """log of (chance that a single j takes over a population of i) / (k - 1) at [i, j]; diagonal -inf."""
    table = as_tensor(values)
    check_size(table, population)
    types = len(table)
    logs = np.full((types, types), -math.inf)
    for resident, mutant in permutations(range(types), 2):
        ratios = process.log_ratio(*pair_payoffs(table, mutant, resident, population))
        logs[resident, mutant] = log_fixation(ratios) - math.log(types - 1)
    return logs


def rare_mutation_shares(values: npt.ArrayLike, process: Process, population: int) -> Floats:
    """Share of time the population consists of each type alone when mutations are rare.

    >>> from ostrom.features.evolution.process import Fermi
    >>> rare_mutation_shares([[2.0, 0.0], [3.0, 1.0]], Fermi(1.0), 20).round(6).tolist()
    [0.0, 1.0]
    """
    return stationary(log_invasion_rates(values, process, population))


@dataclass(frozen=True, eq=False)
class AlphaSweep:
    """Masses (one row per alpha) and the first alpha from which on they no longer change."""

    alphas: tuple[float, ...]
    masses: Floats
    settled_at: float | None


def alpha_rank(values: npt.ArrayLike, *, alpha: float, population: int = 50) -> Floats:
    """Mass of each type of a symmetric game: Fermi copying with intensity alpha in one population.

    >>> alpha_rank([[2.0, 0.0], [3.0, 1.0]], alpha=1.0).round(6).tolist()
    [0.0, 1.0]
    """
    if not (math.isfinite(alpha) and alpha >= 0.0):
        raise UsageError(f"alpha must be finite and not negative (found {alpha!r})")
    return rare_mutation_shares(as_tensor(values), Fermi(alpha), population)


def alpha_sweep(
    values: npt.ArrayLike, alphas: Sequence[float], *, population: int = 50, tolerance: float = 1e-3
) -> AlphaSweep:
    """Masses over rising alphas; ``settled_at`` is None when the last two rows still differ."""
    if len(alphas) < 2 or any(b <= a for a, b in pairwise(alphas)):
        raise UsageError(f"a sweep needs two or more rising alphas (found {list(alphas)})")
    masses = np.array([alpha_rank(values, alpha=alpha, population=population) for alpha in alphas])
    far = np.max(np.abs(masses - masses[-1]), axis=1) > tolerance
    first = int(np.flatnonzero(far)[-1]) + 1 if far.any() else 0
    return AlphaSweep(tuple(alphas), masses, alphas[first] if first < len(alphas) - 1 else None)


# Gains are scaled to order one; a row that a linear program can lower by more than this is not final.
_TIGHT = 1e-8
# Rounding can make a solved bound infeasible; it is loosened step by step, only where a program needs it.
_SLACKS = (0.0, 1e-10, 1e-9, 1e-8)


@dataclass(frozen=True, eq=False)
class DeviationRating:
    """Rating per type, the stages at which rows became final, and one equilibrium that attains the ratings.

    ``profiles[p]`` are the types of an unordered profile and ``weights[p]`` its probability.
    """

    ratings: Floats
    stages: tuple[tuple[int, ...], ...]
    profiles: tuple[tuple[int, ...], ...]
    weights: Floats

    def ranks(self, tolerance: float = 1e-6) -> Floats:
        """Rank 1 is best; types within ``tolerance`` of the next better one share the mean of their ranks."""
        order = np.argsort(-self.ratings, kind="stable")
        ranks, first = np.empty(len(order)), 0
        for place in range(1, len(order) + 1):
            if place == len(order) or self.ratings[order[place - 1]] - self.ratings[order[place]] > tolerance:
                ranks[order[first:place]] = (first + 1 + place) / 2.0
                first = place
        return ranks


def deviation_gains(values: npt.ArrayLike) -> tuple[tuple[tuple[int, ...], ...], Floats]:
    """Return the unordered profiles and the gain [type, profile] of a random seat by playing the type instead.

    Seats are exchangeable: the rating is unique, hence symmetric, and averaging an equilibrium over seat
    orders keeps it; unordered profiles therefore lose nothing and keep the programs small.
    """
    table = as_tensor(values)
    types, players = len(table), table.ndim
    profiles = tuple(combinations_with_replacement(range(types), players))
    gains = np.empty((types, len(profiles)))
    for column, profile in enumerate(profiles):
        others = [profile[:seat] + profile[seat + 1 :] for seat in range(players)]
        stayed = [table[(profile[seat], *others[seat])] for seat in range(players)]
        for kind in range(types):
            gains[kind, column] = float(np.mean(np.subtract([table[(kind, *rest)] for rest in others], stayed)))
    return profiles, gains


def deviation_rating(values: npt.ArrayLike) -> DeviationRating:
    """Exact deviation rating of the types of a symmetric n-player game.

    >>> deviation_rating([[2.0, 0.0], [3.0, 1.0]]).ratings.round(9).tolist()
    [-1.0, 0.0]
    """
    profiles, gains = deviation_gains(values)
    scale = float(np.max(np.abs(gains))) or 1.0
    scaled = gains / scale
    bounds = np.full(len(scaled), np.inf)
    final = np.zeros(len(scaled), dtype=bool)
    stages: list[tuple[int, ...]] = []
    while not final.all():
        level = _lowest_level(scaled, bounds, final)
        capped = np.where(final, bounds, level)
        # A tight row may have slack elsewhere on the optimal face; only a row no optimum can lower is final.
        lowest = {row: _solve(scaled[row], scaled, capped)[0] for row in np.flatnonzero(~final).tolist()}
        stuck = [row for row, least in lowest.items() if least > level - _TIGHT]
        if not stuck:
            raise UsageError("the deviation rating could not be solved: payoffs differ by too many magnitudes")
        bounds[stuck] = level
        final[stuck] = True
        stages.append(tuple(stuck))
    _, weights = _solve(np.zeros(scaled.shape[1]), scaled, bounds)
    # +0.0 turns a negative zero into zero.
    return DeviationRating(bounds * scale + 0.0, tuple(stages), profiles, weights)


def _lowest_level(gains: Floats, bounds: Floats, final: npt.NDArray[np.bool_]) -> float:
    """Least t such that every open row can be kept at or below t while the final rows keep their bounds."""
    rows = np.hstack([gains, np.where(final, 0.0, -1.0)[:, None]])
    return _solve(np.append(np.zeros(gains.shape[1]), 1.0), rows, np.where(final, bounds, 0.0), free=1)[0]


def _solve(objective: Floats, rows: Floats, limits: Floats, free: int = 0) -> tuple[float, Floats]:
    """Minimise over a distribution, followed by ``free`` unbounded variables, subject to rows @ v <= limits."""
    from scipy.optimize import linprog

    size = len(objective)
    total = np.append(np.ones(size - free), np.zeros(free))[None, :]
    for slack in _SLACKS:
        answer = linprog(
            objective,
            A_ub=rows,
            b_ub=limits + slack,
            A_eq=total,
            b_eq=[1.0],
            bounds=[(0.0, None)] * (size - free) + [(None, None)] * free,
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if answer.status == 0:
            solution = np.asarray(answer.x, dtype=np.float64)
            return float(objective @ solution), solution
    raise UsageError(f"the deviation rating could not be solved: {answer.message}")
