"""Stopping rules on simulated runs, a second time: `python -m tests.recomputed.stopping [RUNS]`."""

from __future__ import annotations

import math
import sys
from functools import cache
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


def bounds(off: Any) -> tuple[Any, Any]:
    """Both bounds of the mean difference of pairs, for every run and look."""
    share = (off + 1) / 2
    low = [2 * bets.lower_of_rows(share[:, :n], 0.025) - 1 for n in LOOKS]
    high = [1 - 2 * bets.lower_of_rows(1 - share[:, :n], 0.025) for n in LOOKS]
    return np.array(low).T, np.array(high).T


def factors(off: Any) -> Any:
    """The Bayes factor of every run and look."""
    found = np.ones((len(off), len(LOOKS)))
    for place, n in enumerate(LOOKS):
        spread = off[:, :n].std(axis=1, ddof=1)
        for run in np.flatnonzero(spread > 1e-12):
            found[run, place] = bayes_factor(float(off[run, :n].mean() / (spread[run] / math.sqrt(n))), n)
    return found


def row(met: Any, low: Any, high: Any, effect: float) -> tuple[float, float, float, float]:
    """Mean seeds, and how often the criterion is met, 0 is excluded and the truth is covered."""
    ends = np.where(met.any(axis=1), met.argmax(axis=1), len(LOOKS) - 1)
    runs = np.arange(len(met))
    least, most = low[runs, ends], high[runs, ends]
    apart = (least > 1e-9) | (most < -1e-9)
    holds = (least <= effect + 1e-9) & (most >= effect - 1e-9)
    seeds = np.array(LOOKS)[ends]
    return float(seeds.mean()), float(met.any(axis=1).mean()), float(apart.mean()), float(holds.mean())


def main() -> None:
    """Print one row per rule, kind of values and true difference."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for number, (spread, sd) in enumerate(SPREADS.items()):
        for effect in EFFECTS:
            rng = np.random.default_rng([number, int(effect * 10)])
            first, second = sides(Truth(0.5, sd), effect, (times, LOOKS[-1]), rng)
            off = first - second
            (low, high), evidence = bounds(off), factors(off)
            for kind, wanted in RULES:
                if kind == "width":
                    met = high - low <= wanted + 1e-9
                else:
                    met = (evidence >= wanted * (1 - 1e-9)) | (evidence <= (1 + 1e-9) / wanted)
                seeds, *rest = row(met, low, high, effect)
                shown = " | ".join(f"{share:.3f}".removeprefix("0") for share in rest)
                print(f"| {kind}: {wanted:g} | {spread} | {effect:g} | {seeds:.1f} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
