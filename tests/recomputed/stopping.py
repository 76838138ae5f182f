"""Stopping rules on simulated runs, a second time: `python -m tests.recomputed.stopping [RUNS]`."""

from __future__ import annotations

import math
import sys
from functools import cache
from multiprocessing import Pool
from typing import Any

import numpy as np
from scipy import stats
from tests.recomputed import bets
from tests.recomputed.draws import Truth, sides

RULES = (("width", 0.6), ("width", 0.4), ("bayes_factor", 3.0), ("bayes_factor", 6.0), ("bayes_factor", 10.0))
SPREADS = {"uniform": 0.28, "all or nothing": 0.5}
EFFECTS = (0.0, 0.2)
LOOKS = tuple(range(5, 101, 5))
SCALE = math.sqrt(2) / 2


@cache
def _nodes() -> tuple[Any, Any]:
    z = np.linspace(1e-4, 12, 6000)
    return z**-2.0, 2 * stats.norm.pdf(z) * (z[1] - z[0])


def bayes_factor(t: float, n: int) -> float:
    """The JZS factor for a difference of pairs (Rouder et al. 2009): g is the inverse of a squared normal variable."""
    g, weights = _nodes()
    wide, free = 1 + n * SCALE**2 * g, n - 1
    there = float((weights * wide**-0.5 * (1 + t * t / (wide * free)) ** (-(free + 1) / 2)).sum())
    return float(there / (1 + t * t / free) ** (-(free + 1) / 2))


def stopped(kind: str, wanted: float, off: Any) -> tuple[int, bool, tuple[float, float]]:
    """Seeds at which a run stops, whether by its criterion, and the interval there."""
    for n in LOOKS:
        seen = off[:n]
        if kind == "width":
            low, high = bets.bounds_of([seen], [1.0], (-1.0, 1.0))
            met = high - low <= wanted + 1e-9
        else:
            spread = float(seen.std(ddof=1))
            factor = bayes_factor(float(seen.mean()) / (spread / math.sqrt(n)), n) if spread > 1e-12 else 1.0
            met = factor >= wanted * (1 - 1e-9) or factor <= (1 + 1e-9) / wanted
        if met or n == LOOKS[-1]:
            return n, met, bets.bounds_of([seen], [1.0], (-1.0, 1.0))
    raise AssertionError


def row(job: tuple[str, float, str, float, int]) -> tuple[float, float, float, float]:
    """Mean seeds, and how often the criterion is met, 0 is excluded and the truth is covered."""
    kind, wanted, spread, effect, times = job
    rng = np.random.default_rng([int(wanted * 10), len(spread), int(effect * 10), kind == "width"])
    first, second = sides(Truth(0.5, SPREADS[spread]), effect, (times, LOOKS[-1]), rng)
    ends = [stopped(kind, wanted, off) for off in first - second]
    apart = sum(low > 1e-9 or high < -1e-9 for _, _, (low, high) in ends)
    holds = sum(low <= effect + 1e-9 and high >= effect - 1e-9 for _, _, (low, high) in ends)
    return (
        sum(n for n, _, _ in ends) / times,
        sum(met for _, met, _ in ends) / times,
        apart / times,
        holds / times,
    )


def main() -> None:
    """Print one row per rule, kind of values and true difference."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    jobs = [
        (kind, wanted, spread, effect, times)
        for kind, wanted in RULES
        for spread in SPREADS
        for effect in EFFECTS
    ]
    with Pool() as pool:
        for (kind, wanted, spread, effect, _), found in zip(jobs, pool.imap(row, jobs, 1), strict=True):
            shares = " | ".join(f"{share:.3f}".removeprefix("0") for share in found[1:])
            print(f"| {kind}: {wanted:g} | {spread} | {effect:g} | {found[0]:.1f} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
