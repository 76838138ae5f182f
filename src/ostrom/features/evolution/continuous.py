"""Continuous replicator dynamics dx_i/dt = x_i (f_i - fbar) (Taylor & Jonker, 1978)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ostrom.features.evolution.simplex import Floats, as_population, uniform_start
from ostrom.features.evolution.tensor import as_tensor, fitness
from ostrom.features.evolution.trajectory import Trajectory
from ostrom.ground.errors import UsageError


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
