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

from ostrom.features.evolution.fermi import Fermi
from ostrom.features.evolution.rare_mutation import rare_mutation_shares
from ostrom.features.evolution.simplex import Floats
from ostrom.features.evolution.tensor import as_tensor
from ostrom.ground.errors import UsageError


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
