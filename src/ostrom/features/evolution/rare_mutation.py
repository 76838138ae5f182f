"""Small-mutation limit of a finite-population process (Fudenberg & Imhof, 2006)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ostrom.features.evolution.finite_payoffs import check_size, pair_payoffs
from ostrom.features.evolution.fixation import log_fixation
from ostrom.features.evolution.process import Process
from ostrom.features.evolution.simplex import Floats
from ostrom.features.evolution.stationary import stationary
from ostrom.features.evolution.tensor import as_tensor


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

    >>> from ostrom.features.evolution.fermi import Fermi
    >>> rare_mutation_shares([[2.0, 0.0], [3.0, 1.0]], Fermi(1.0), 20).round(6).tolist()
    [0.0, 1.0]
    """
    return stationary(log_invasion_rates(values, process, population))
