"""Small-mutation limit of a finite-population process (Fudenberg & Imhof, 2006), and alpha-rank, its strong selection.

A single mutant takes over or dies out: the exact fixation probability of a one-dimensional birth-death chain. Rates
between populations of one type each make a Markov chain, whose stationary distribution says where time is spent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ostrom.features.evolution.process import Fermi, Process, check_size, pair_payoffs
from ostrom.features.evolution.simplex import Floats
from ostrom.features.evolution.tensor import as_tensor
from ostrom.ground.errors import UsageError


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
    """log(sum(exp(logs))) without overflow; -inf for nothing."""
    top = float(np.max(logs, initial=-math.inf))
    return top if top == -math.inf else top + math.log(float(np.sum(np.exp(logs - top))))


def stationary(log_rates: npt.ArrayLike) -> Floats:
    """Stationary distribution; the diagonal is ignored, -inf means no transition.

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
            raise UsageError(
                "the chain has no unique stationary distribution: some states never lead to others"
            )
        logs[:last, last] -= out
        through = logs[:last, last][:, None] + logs[last, :last][None, :]
        logs[:last, :last] = np.logaddexp(logs[:last, :last], through)
    weights = np.full(size, -math.inf)
    weights[0] = 0.0
    for state in range(1, size):
        weights[state] = log_sum(weights[:state] + logs[:state, state])
    shares: Floats = np.exp(weights - log_sum(weights))
    total: Floats = shares / shares.sum()
    return total


def log_invasion_rates(values: npt.ArrayLike, process: Process, population: int) -> Floats:
    """log of (chance that a single j takes over a population of i) / (k - 1) at [i, j]; diagonal -inf."""
    table = as_tensor(values)
    check_size(table, population)
    types = len(table)
    logs = np.full((types, types), -math.inf)
    for resident in range(types):
        for mutant in range(types):
            if mutant != resident:
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
    return rare_mutation_shares(as_tensor(values), Fermi(_checked(alpha)), population)


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


def _checked(alpha: float) -> float:
    if not (math.isfinite(alpha) and alpha >= 0.0):
        raise UsageError(f"alpha must be finite and not negative (found {alpha!r})")
    return alpha
