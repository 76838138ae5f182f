"""Replicator dynamics: discrete and exponential (Tewolde et al., 2026; multiplicative weights), and continuous.

The continuous form is dx_i/dt = x_i (f_i - fbar) (Taylor & Jonker, 1978).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ostrom.features.evolution.simplex import Floats, Trajectory, as_population, uniform_start
from ostrom.features.evolution.tensor import as_tensor, fitness
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


def continuous_replicator(
    values: npt.ArrayLike,
    start: npt.ArrayLike | None = None,
    *,
    duration: float = 100.0,
    points: int = 501,
    precision: float = 1e-10,
    tolerance: float = 1e-6,
) -> Trajectory:
    """Path sampled at ``points`` equally spaced times; types that start at zero stay at zero exactly.

    ``settled`` says whether the last population meets max|f_i - fbar| < tolerance over the types present.

    >>> continuous_replicator([[2.0, 0.0], [3.0, 1.0]], duration=40.0).final.round(6).tolist()
    [0.0, 1.0]
    """
    from scipy.integrate import solve_ivp

    table = as_tensor(values)
    if duration <= 0.0 or points < 2 or precision <= 0.0:
        raise UsageError(
            f"needed: duration > 0, points >= 2, precision > 0 (found {duration}, {points}, {precision})"
        )
    first = uniform_start(len(table)) if start is None else as_population(start, len(table))
    alive = first > 0.0

    def shares(u: Floats) -> Floats:
        x = np.zeros(len(table))
        grown = np.exp(u - u.max())
        x[alive] = grown / grown.sum()
        return x

    def slope(_: float, u: Floats) -> Floats:
        x = shares(u)
        f = fitness(table, x)
        return (f - float(x @ f))[alive]

    times = np.linspace(0.0, duration, points)
    # In log shares the flow cannot leave the simplex, and rare types keep their relative precision.
    path = solve_ivp(
        slope,
        (0.0, duration),
        np.log(first[alive]),
        method="DOP853",
        t_eval=times,
        rtol=precision,
        atol=precision,
    )
    if not path.success:
        raise UsageError(f"the replicator equation could not be integrated: {path.message}")
    states = np.array([shares(u) for u in path.y.T])
    states[0] = first
    f = fitness(table, states[-1])
    gap = np.abs(f - float(states[-1] @ f))[alive]
    return Trajectory(times, states, bool(gap.max() < tolerance))
