"""Discrete exponential replicator dynamics (Tewolde et al., 2026; multiplicative weights)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ostrom.features.evolution.simplex import Floats, as_population, uniform_start
from ostrom.features.evolution.tensor import as_tensor, fitness
from ostrom.features.evolution.trajectory import Trajectory
from ostrom.ground.errors import UsageError

# exp() of more than this would leave the range of a float64 when multiplied up.
_LARGEST_EXPONENT = 500.0


def exponential_replicator(
    values: npt.ArrayLike,
    start: npt.ArrayLike | None = None,
    *,
    eta: float = 0.1,
    steps: int = 1000,
    tolerance: float = 1e-6,
) -> Trajectory:
    """x_i <- x_i exp(eta (f_i - fbar)) / Z from ``start`` (None: uniform), until max|f_i - fbar| < tolerance.

    The maximum runs over all types, extinct ones included; the rule is checked before each move, so a start
    that satisfies it is returned unmoved.

    >>> exponential_replicator([[2.0, 0.0], [3.0, 1.0]]).final.round(6).tolist()
    [0.0, 1.0]
    """
    table = as_tensor(values)
    if eta <= 0.0 or steps < 0 or tolerance < 0.0:
        raise UsageError(
            f"the replicator needs eta > 0, steps >= 0, tolerance >= 0 (found {eta}, {steps}, {tolerance})"
        )
    x = uniform_start(len(table)) if start is None else as_population(start, len(table))
    states, settled = [x], False
    for _ in range(steps):
        advantage = _advantage(table, x)
        if float(np.max(np.abs(advantage))) < tolerance:
            settled = True
            break
        x = _move(x, eta * advantage)
        states.append(x)
    else:
        settled = float(np.max(np.abs(_advantage(table, x)))) < tolerance
    return Trajectory(np.arange(len(states), dtype=np.float64), np.array(states), settled)


def _advantage(table: Floats, x: Floats) -> Floats:
    f = fitness(table, x)
    return f - float(x @ f)


def _move(x: Floats, exponents: Floats) -> Floats:
    # A common factor cancels in Z; it is taken out only where exp() would overflow.
    excess = float(np.max(exponents[x > 0.0])) - _LARGEST_EXPONENT
    safe = np.minimum(exponents - max(excess, 0.0), _LARGEST_EXPONENT)
    grown = x * np.exp(safe)
    after: Floats = grown / grown.sum()
    return after
