"""Maximum likelihood of the mixture of strategies with trembles (Dal Bo & Frechette 2011).

A unit follows candidate k with probability w[k] and does what k prescribes with probability 1 - e in each
round, the opposite otherwise, e at most one half. EM climbs from several starts for many weightings of the
units at once; the single fit is polished by sequential quadratic programming and must meet the conditions
of an optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ostrom.analysis.statistics.errors import NotConverged
from ostrom.analysis.statistics.samples import Floats

SURE = 1.0 - 1e-10
STARTS = (0.55, 0.75, 0.95)
BATCH = 1_500_000


@dataclass(frozen=True)
class Mixture:
    """Weights, probability to follow the prescription, log-likelihood, and the distance from an optimum."""

    weights: Floats
    faithful: float
    log_likelihood: float
    slack: Floats
    likelihood: Floats


def fit_mixture(counts: Floats, chances: Floats) -> Mixture:
    """The maximum likelihood mixture of one table of counts (units, candidates, chances)."""
    patterns, sizes = np.unique(counts.reshape(len(counts), -1), axis=0, return_counts=True)
    table = patterns.reshape(-1, *counts.shape[1:])
    load = np.tile(sizes.astype(np.float64), (len(STARTS), 1))
    start = np.full((len(STARTS), counts.shape[1]), 1.0 / counts.shape[1])
    weights, faithful, height = climb(
        table, chances, load, start, np.array(STARTS), tolerance=1e-10, most=5_000
    )
    best = int(np.argmax(height))
    return _polished(table, chances, load[0], weights[best], float(faithful[best]))


def climb(
    table: Floats,
    chances: Floats,
    load: Floats,
    weights: Floats,
    faithful: Floats,
    *,
    tolerance: float = 1e-7,
    most: int = 2_000,
) -> tuple[Floats, Floats, Floats]:
    """EM for many weightings at once: load has shape (weightings, patterns of units)."""
    weights, faithful = weights.copy(), faithful.copy()
    height = np.full(len(load), -np.inf)
    step = max(1, BATCH // (table.shape[0] * table.shape[1]))
    for start in range(0, len(load), step):
        active = np.arange(start, min(start + step, len(load)))
        for _ in range(most):
            new_weights, new_faithful, reached = _em_step(
                table, chances, load[active], weights[active], faithful[active]
            )
            moved = np.maximum(
                np.abs(new_weights - weights[active]).max(axis=1), np.abs(new_faithful - faithful[active])
            )
            weights[active], faithful[active], height[active] = new_weights, new_faithful, reached
            active = active[moved > tolerance]
            if not active.size:
                break
    return weights, faithful, height


def log_likelihoods(table: Floats, chances: Floats, faithful: Floats) -> Floats:
    """Log-likelihood of each pattern under each candidate, shape (weightings, patterns, candidates)."""
    chance = np.outer(faithful, chances) + np.outer(1 - faithful, 1 - chances)
    flat = table.reshape(-1, chances.size) @ np.log(chance).T
    return np.moveaxis(flat.reshape(*table.shape[:2], len(faithful)), 2, 0)


def _em_step(
    table: Floats, chances: Floats, load: Floats, weights: Floats, faithful: Floats
) -> tuple[Floats, Floats, Floats]:
    with np.errstate(divide="ignore"):
        joint = log_likelihoods(table, chances, faithful) + np.log(weights)[:, None, :]
    top = joint.max(axis=2, keepdims=True)
    np.exp(joint - top, out=joint)
    total = joint.sum(axis=2, keepdims=True)
    height = np.sum(load * (top + np.log(total))[:, :, 0], axis=1)
    joint *= load[:, :, None] / total
    new_weights = joint.sum(axis=1) / load.sum(axis=1, keepdims=True)
    expected = joint.reshape(len(load), -1) @ table.reshape(-1, chances.size)
    # A coin toss prescribed says nothing about trembles; leaving it out only speeds up the climb.
    telling = np.abs(chances - 0.5) > 1e-9
    chance = np.outer(faithful, chances) + np.outer(1 - faithful, 1 - chances)
    kept = expected * np.outer(faithful, chances) / chance
    moves = expected[:, telling].sum(axis=1)
    rate = np.where(moves > 0, kept[:, telling].sum(axis=1) / np.maximum(moves, 1e-300), faithful)
    return new_weights, np.clip(rate, 0.5, SURE), height


def _polished(table: Floats, chances: Floats, load: Floats, weights: Floats, faithful: float) -> Mixture:
    from scipy import optimize

    minimize: Any = optimize.minimize

    n, k = float(load.sum()), weights.size

    def evaluate(x: Floats) -> tuple[float, Floats, Floats]:
        likelihood = log_likelihoods(table, chances, np.array([x[-1]]))[0]
        top = likelihood.max(axis=1, keepdims=True)
        relative = np.exp(likelihood - top)
        mixed = np.maximum(relative @ x[:-1], 1e-300)
        chance = x[-1] * chances + (1 - x[-1]) * (1 - chances)
        slope = table @ ((2 * chances - 1) / chance)
        share = relative * x[:-1] / mixed[:, None]
        gradient = np.append((load / mixed) @ relative, float(load @ (share * slope).sum(axis=1)))
        return float(load @ (top[:, 0] + np.log(mixed))), gradient, relative / mixed[:, None]

    here = np.append(weights, faithful)
    height, gradient, likelihood = evaluate(here)
    if k > 1 or faithful < SURE:
        whole = {
            "type": "eq",
            "fun": lambda x: x[:-1].sum() - 1,
            "jac": lambda _: np.append(np.ones(k), 0),
        }
        answer = minimize(
            lambda x: -evaluate(x)[0] / n,
            here,
            jac=lambda x: -evaluate(x)[1] / n,
            bounds=[(0.0, 1.0)] * k + [(0.5, SURE)],
            constraints=whole,
            method="SLSQP",
            options={"maxiter": 200, "ftol": 1e-13},
        )
        moved = np.append(np.clip(answer.x[:-1], 0, 1), np.clip(answer.x[-1], 0.5, SURE))
        moved[:-1] /= moved[:-1].sum()
        tried = evaluate(moved)
        if tried[0] > height:
            here, (height, gradient, likelihood) = moved, tried
    # At the optimum no candidate would gain likelihood from more weight: gradient / n is at most 1.
    slack = gradient[:-1] / n - 1.0
    if slack.max() > 1e-3:
        raise NotConverged("the strategy frequencies did not reach an optimum")
    return Mixture(here[:-1], float(here[-1]), height, slack, likelihood)
