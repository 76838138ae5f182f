"""Stationary distribution of a Markov chain given by the logarithms of its transition rates."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ostrom.features.evolution.fixation import log_sum
from ostrom.features.evolution.simplex import Floats
from ostrom.ground.errors import UsageError


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
