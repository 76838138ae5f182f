"""Intervals hold the truth as often as they say: a quick look; `make coverage` looks closely.

The bounds leave four standard errors of the count, and the draws are fixed: a pass stays a pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ostrom.analysis.intervals import difference_of, mean_of, paired_difference_of, slope_of

SAMPLES = 250
UNIT = (0.0, 1.0)
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray[Any, Any]]
ROWS: dict[str, tuple[Draw, float]] = {
    "smooth": (lambda rng, size: rng.beta(5, 5, size), 0.5),
    "near the bound": (lambda rng, size: rng.beta(20, 0.5, size), 20 / 20.5),
    "all or nothing": (lambda rng, size: (rng.random(size) < 0.9) * 1.0, 0.9),
    "rarely something else": (lambda rng, size: np.where(rng.random(size) < 0.97, 0.9, 0.3), 0.882),
}


def least(n: int) -> float:
    aim = 0.93 if n >= 5 else 0.90
    return aim - 4 * math.sqrt(aim * (1 - aim) / SAMPLES)


@pytest.mark.sample(6)
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("n", [2, 5, 10])
def test_means(row: str, n: int) -> None:
    draw, truth = ROWS[row]
    held = 0
    for values in draw(np.random.default_rng([n, len(row)]), (SAMPLES, n)):
        found = mean_of(values, bounds=UNIT).limits()
        assert found.low is not None and found.high is not None
        held += found.low <= truth <= found.high
    assert held / SAMPLES >= least(n)


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("row", ROWS)
def test_differences_and_slopes(row: str) -> None:
    draw, _ = ROWS[row]
    rng = np.random.default_rng([7, len(row)])
    held = {"apart": 0, "paired": 0, "slope": 0}
    x = np.repeat([1.0, 2.0, 4.0, 8.0], 3)
    for _ in range(SAMPLES):
        a, b = draw(rng, (5,)), draw(rng, (8,))
        found = {
            "apart": difference_of(a, b, bounds=UNIT),
            "paired": paired_difference_of(a, b[:5], bounds=UNIT),
            "slope": slope_of(x, draw(rng, (12,)), bounds=UNIT, log=True),
        }
        for name, one in found.items():
            limits = one.limits()
            assert limits.low is not None and limits.high is not None
            held[name] += limits.low <= 0 <= limits.high
    for name, count in held.items():
        assert count / SAMPLES >= least(5 if name != "slope" else 3), name


@pytest.mark.slow
def test_the_interval_is_at_most_as_wide_as_it_may_be() -> None:
    from ostrom.analysis.intervals.limits import t_quantile

    for a, b in ((5.0, 5.0), (1.0, 1.0), (30.0, 3.0), (50.0, 50.0)):
        drawn = np.random.default_rng(3).beta(a, b, (SAMPLES, 10))
        ours = [found.high - found.low for v in drawn for found in [mean_of(v, bounds=UNIT).limits()]]  # type: ignore[operator]
        theirs = 2 * t_quantile(0.975, 9) * drawn.std(axis=1, ddof=1) / 10**0.5
        assert np.mean(ours) <= 1.6 * np.mean(theirs)


@pytest.mark.sample(6)
@pytest.mark.parametrize("plus", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_pairs_that_are_all_or_nothing(plus: float, n: int) -> None:
    held = 0
    for won in np.random.default_rng([n, int(10 * plus)]).random((SAMPLES, n)) < plus:
        found = paired_difference_of(won * 1.0, 1.0 - won, bounds=UNIT).limits()
        assert found.low is not None and found.high is not None
        held += found.low <= 2 * plus - 1 <= found.high
    assert held / SAMPLES >= least(n)
