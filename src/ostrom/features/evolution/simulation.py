"""Simulation of finite-population processes for any number of types, with or without mutation."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ostrom.features.evolution.finite_payoffs import Counts, check_counts, finite_payoffs
from ostrom.features.evolution.process import Process
from ostrom.features.evolution.simplex import Floats
from ostrom.features.evolution.tensor import as_tensor
from ostrom.features.evolution.trajectory import Trajectory
from ostrom.ground.errors import UsageError


def simulate(
    values: npt.ArrayLike,
    process: Process,
    start: Counts,
    rng: np.random.Generator,
    *,
    steps: int,
    mutation: float = 0.0,
) -> Trajectory:
    """Shares after every event; without mutation the path ends (settled) when one type is alone.

    With probability ``mutation`` the event's newcomer is instead one of the other types, uniformly.
    """
    table = as_tensor(values)
    check_counts(table, start)
    if steps < 0 or not 0.0 <= mutation <= 1.0:
        raise UsageError(f"a simulation needs steps >= 0 and mutation in [0, 1] (found {steps}, {mutation})")
    states = [start]
    payoffs = _remembered(table)
    while len(states) <= steps and not (mutation == 0.0 and _alone(states[-1])):
        states.append(_event(states[-1], process, payoffs, rng, mutation))
    shares = np.array(states, dtype=np.float64) / sum(start)
    settled = mutation == 0.0 and _alone(states[-1])
    return Trajectory(np.arange(len(states), dtype=np.float64), shares, settled)


def _remembered(table: Floats) -> Callable[[Counts], Floats]:
    # A path visits the same counts again and again; their payoffs do not change.
    return lru_cache(maxsize=100_000)(lambda counts: finite_payoffs(table, counts))


def _alone(counts: Counts) -> bool:
    return max(counts) == sum(counts)


def _event(
    state: Counts,
    process: Process,
    payoffs: Callable[[Counts], Floats],
    rng: np.random.Generator,
    mutation: float,
) -> Counts:
    gone, born = process.step(np.array(state, dtype=np.float64), payoffs(state), rng)
    if mutation and len(state) > 1 and rng.random() < mutation:
        other = int(rng.integers(len(state) - 1))
        born = other if other < born else other + 1
    after = list(state)
    after[gone] -= 1
    after[born] += 1
    return tuple(after)
