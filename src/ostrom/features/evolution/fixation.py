"""Exact fixation probability of one mutant type among residents (one-dimensional birth-death chain)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ostrom.features.evolution.simplex import Floats
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
