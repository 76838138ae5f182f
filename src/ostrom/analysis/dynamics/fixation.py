"""Exact fixation probability of one mutant type among residents (one-dimensional birth-death chain)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ostrom.analysis.dynamics.finite_payoffs import check_size, pair_payoffs
from ostrom.analysis.dynamics.process import Process
from ostrom.analysis.dynamics.simplex import Floats
from ostrom.analysis.dynamics.tensor import as_tensor
from ostrom.errors import UsageError


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


def fixation_probability(
    values: npt.ArrayLike, process: Process, *, mutant: int, resident: int, population: int, mutants: int = 1
) -> float:
    """Chance that ``mutants`` of one type take over a population of another.

    >>> from ostrom.analysis.dynamics.fermi import Fermi
    >>> neutral = [[1.0, 1.0], [1.0, 1.0]]
    >>> round(fixation_probability(neutral, Fermi(1.0), mutant=0, resident=1, population=10), 12)
    0.1
    """
    table = as_tensor(values)
    check_size(table, population)
    if mutant == resident or not {mutant, resident} <= set(range(len(table))):
        raise UsageError(
            f"mutant and resident must be two of the {len(table)} types (found {mutant}, {resident})"
        )
    ratios = process.log_ratio(*pair_payoffs(table, mutant, resident, population))
    return math.exp(log_fixation(ratios, mutants))
