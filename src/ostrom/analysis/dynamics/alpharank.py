"""Alpha-rank: long-run mass of types (or profiles) under strong selection and rare mutation.

Omidshafiei et al. (2019), "alpha-Rank: Multi-Agent Evaluation by Evolution". One population for symmetric
games (types meet inside a finite population of m); one population per seat for the general case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ostrom.analysis.dynamics.fermi import Fermi
from ostrom.analysis.dynamics.rare_mutation import rare_mutation_shares
from ostrom.analysis.dynamics.simplex import Floats
from ostrom.analysis.dynamics.stationary import stationary
from ostrom.analysis.dynamics.tensor import as_tensor
from ostrom.errors import UsageError

_MOST_PROFILES = 2_000


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


def alpha_rank_profiles(payoffs: Sequence[npt.ArrayLike], *, alpha: float, population: int = 50) -> Floats:
    """Mass of each joint profile, one population per seat; ``payoffs[p][a1, a2, ...]`` is what seat p gets.

    A mutant in one seat's population faces the other seats' current types, so its advantage does not depend
    on its own frequency and the fixation probability has the closed form of the paper.

    >>> dilemma = np.array([[2.0, 0.0], [3.0, 1.0]])
    >>> alpha_rank_profiles([dilemma, dilemma.T], alpha=5.0).round(6).tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    tables = [np.asarray(table, dtype=np.float64) for table in payoffs]
    shape = tables[0].shape if tables else ()
    if len(shape) != len(tables) or any(table.shape != shape for table in tables) or not shape:
        raise UsageError(f"n seats need n payoff tables with n axes each (found {[t.shape for t in tables]})")
    if population < 2 or not all(np.all(np.isfinite(table)) for table in tables):
        raise UsageError(
            f"alpha-rank needs finite payoffs and a population of 2 or more (found {population})"
        )
    if math.prod(shape) > _MOST_PROFILES:
        raise UsageError(
            f"{math.prod(shape)} profiles are too many (at most {_MOST_PROFILES}); rank the types instead"
        )
    deviations = sum(length - 1 for length in shape)
    logs = np.full((math.prod(shape), math.prod(shape)), -math.inf)
    for profile in np.ndindex(shape):
        for seat, length in enumerate(shape):
            for action in range(length):
                if action == profile[seat]:
                    continue
                other = (*profile[:seat], action, *profile[seat + 1 :])
                gain = float(tables[seat][other] - tables[seat][profile])
                rate = log_constant_fixation(_checked(alpha) * gain, population) - math.log(deviations)
                logs[np.ravel_multi_index(profile, shape), np.ravel_multi_index(other, shape)] = rate
    return stationary(logs).reshape(shape)


def log_constant_fixation(advantage: float, population: int) -> float:
    """log of (1 - e^-u) / (1 - e^-mu), the fixation probability at a constant scaled advantage u.

    >>> round(math.exp(log_constant_fixation(0.0, 50)), 12)
    0.02
    """
    u = abs(advantage)
    if population * u < 1e-12:
        return -math.log(population)
    ratio = math.log(-math.expm1(-u)) - math.log(-math.expm1(-population * u))
    return ratio if advantage > 0.0 else ratio - (population - 1) * u


def symmetric_tables(values: npt.ArrayLike) -> list[Floats]:
    """Payoff table of every seat of the symmetric game with this tensor (for ``alpha_rank_profiles``)."""
    table = as_tensor(values)
    return [np.moveaxis(table, 0, seat) for seat in range(table.ndim)]


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
