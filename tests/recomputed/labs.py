"""Pooling of simulated labs written a second time, for many sets of labs at once.

The variance between labs is found by iterating the equation of the restricted
likelihood (Viechtbauer 2005), not by a search as in ``ostrom.features.pooling.random_effects``.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats

LABS = (3, 5, 10)
CASES = ((0.0, 0.3), (0.2, 0.3), (0.2, 1.0), (1.0, 1.0))
"""Standard deviations between labs and of the 20 matches of a lab."""


def pooled_rows(y: Any, v: Any) -> tuple[Any, Any, Any]:
    """Mean, half of the interval and variance between labs of every row of labs."""
    tau2 = np.maximum(0, y.var(axis=1, ddof=1) - v.mean(axis=1))
    for _ in range(300):
        w = 1 / (v + tau2[:, None])
        mean = (w * y).sum(axis=1) / w.sum(axis=1)
        off = (w**2 * ((y - mean[:, None]) ** 2 - v)).sum(axis=1) / (w**2).sum(axis=1)
        tau2 = np.maximum(0, off + 1 / w.sum(axis=1))
    w = 1 / (v + tau2[:, None])
    mean = (w * y).sum(axis=1) / w.sum(axis=1)
    q = (w * (y - mean[:, None]) ** 2).sum(axis=1) / (y.shape[1] - 1)
    reach = stats.t.ppf(0.975, y.shape[1] - 1) * np.sqrt(np.maximum(q, 1) / w.sum(axis=1))
    return mean, reach, tau2


def drawn(labs: int, times: int, tau: float, sd: float, shifted: bool) -> tuple[Any, Any, float]:
    """Estimates and variances of labs of 20 matches, and the mean of the labs' distribution."""
    rng = np.random.default_rng([labs, int(100 * tau), int(100 * sd), shifted])
    means = tau * rng.standard_normal((times, labs))
    if shifted:
        means += 3 * tau * (rng.random((times, labs)) < 0.1)
    matches = means[:, :, None] + sd * rng.standard_normal((times, labs, 20))
    return matches.mean(axis=2), matches.var(axis=2, ddof=1) / 20, 0.3 * tau if shifted else 0.0


def coverage(times: int) -> Iterator[tuple[str, list[float]]]:
    """How often the interval holds the mean of the labs' distribution, by kind of labs and their number."""
    for tau, sd in CASES:
        for shifted in (False, True) if tau else (False,):
            kind = "one lab in ten shifted by three tau" if shifted else "normal"
            shares = []
            for labs in LABS:
                y, v, truth = drawn(labs, times, tau, sd, shifted)
                mean, reach, _ = pooled_rows(y, v)
                shares.append(float(np.mean(np.abs(mean - truth) <= reach)))
            yield f"tau {tau:g}, matches {sd:g}, {kind}", shares
