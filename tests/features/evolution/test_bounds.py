"""What the dynamics take and refuse: the last value that is allowed and the first that is not."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.features.evolution.games import DILEMMA

from ostrom.features.evolution.coalescence import MOST_MEMBERS, critical_ratio
from ostrom.features.evolution.command import read_start
from ostrom.features.evolution.evolution import discounted_mean, normalised
from ostrom.features.evolution.process import (
    DeviationRating,
    Fermi,
    Moran,
    alpha_rank,
    alpha_sweep,
    check_counts,
    check_size,
    log_fixation,
    simulate,
    stationary,
)
from ostrom.features.evolution.replicator import exponential_replicator, sample_basins
from ostrom.features.evolution.tensor import (
    ScoredMatch,
    as_population,
    given_start,
    payoff_tensor,
    random_start,
    uniform_start,
)
from ostrom.ground.errors import UsageError

TABLE = np.array(DILEMMA, dtype=np.float64)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def ring(size: int) -> list[set[int]]:
    return [{(i - 1) % size, (i + 1) % size} for i in range(size)]


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: exponential_replicator(DILEMMA, steps=-1), "steps >= 0"),
    (lambda: exponential_replicator(DILEMMA, tolerance=-0.1), "tolerance >= 0"),
    (lambda: sample_basins(DILEMMA, rng(), samples=0, window=8, steps=8), "samples >= 1"),
    (lambda: sample_basins(DILEMMA, rng(), samples=1, window=7, steps=8), "8 <= window"),
    (lambda: sample_basins(DILEMMA, rng(), samples=1, window=9, steps=8), "window <= steps"),
    (lambda: sample_basins(DILEMMA, rng(), samples=1, window=8, steps=8, eta=0.0), "eta > 0"),
    (lambda: sample_basins(DILEMMA, rng(), samples=1, window=8, steps=8, concentration=0.0), "concentration > 0"),
    (lambda: Moran(-0.1), "must be >= 0"),
    (lambda: Moran(-0.1, "exponential"), "must be >= 0"),
    (lambda: Moran(0.1, "cubic"), "unknown fitness mapping 'cubic'"),  # type: ignore[arg-type]
    (lambda: Moran(1.0).log_fitness(np.array([0.0])), r"must be positive \(found 0.0"),
    (lambda: check_size(TABLE, 1), "population of 2 or more"),
    (lambda: check_size(np.zeros(2), 1), "population of 2 or more"),
    (lambda: check_size(np.zeros((2, 2, 2)), 2), "3 seats needs a population of 3 or more"),
    (lambda: check_counts(TABLE, (-1, 3)), "counts >= 0"),
    (lambda: check_counts(TABLE, (1, 1, 1)), "needs 2 counts"),
    (lambda: simulate(DILEMMA, Fermi(1.0), (1, 1), rng(), steps=-1), "steps >= 0"),
    (lambda: simulate(DILEMMA, Fermi(1.0), (1, 1), rng(), steps=1, mutation=1.1), "mutation in"),
    (lambda: simulate(DILEMMA, Fermi(1.0), (1, 1), rng(), steps=1, mutation=-0.1), "mutation in"),
    (lambda: log_fixation([0.0, 0.0], 0), r"1 to 2 \(found 0\)"),
    (lambda: log_fixation([0.0, 0.0], 3), r"1 to 2 \(found 3\)"),
    (lambda: stationary([[0.0, 1.0]]), r"square matrix .*\(1, 2\)"),
    (lambda: stationary([[0.0, math.nan], [0.0, 0.0]]), "without nan"),
    (lambda: alpha_rank(DILEMMA, alpha=-1.0), "not negative"),
    (lambda: alpha_sweep(DILEMMA, [1.0]), "two or more"),
    (lambda: discounted_mean([1.0], 1.01), r"must lie in \[0, 1\)"),
    (lambda: discounted_mean([1.0], -0.01), r"must lie in \[0, 1\)"),
    (lambda: normalised(1.0, equilibrium=2.0, cooperation=2.0), "pay the same"),
    (lambda: as_population([1.0, 1e-8], 2), "sum to 1"),
    (lambda: as_population([1.0, -1e-12], 2), "not negative"),
    (lambda: as_population([math.inf, 0.0], 2), "must be finite"),
    (lambda: uniform_start(0), "at least one type"),
    (lambda: random_start(2, rng(), 0.0), "must be positive"),
    (lambda: given_start({"b": 1.0, "c": 0.0}, ["a"]), r"unknown types: b, c \(known: a\)"),
    (lambda: payoff_tensor([ScoredMatch(("a", "a"), (1.0, 1.0))], ["a", "a"]), "names must differ"),
    (lambda: ScoredMatch((), ()), "one score per seat"),
    (lambda: critical_ratio(ring(4), "birth-death"), "allowed: death-birth, imitation"),
    (lambda: critical_ratio([{0}]), "2 to 64 members"),
    (lambda: critical_ratio([set(), set()]), "equally many neighbours"),
    (lambda: critical_ratio([{1}, {0, 2}, {1}]), "equally many neighbours"),
    (lambda: critical_ratio(ring(MOST_MEMBERS + 1)), "2 to 64 members"),
    (lambda: read_start("{"), "is not JSON"),
    (lambda: read_start('{"a": true}'), "every share must be a number"),
    (lambda: read_start("a=0.5,a=0.5"), "every name once"),
    (lambda: read_start("a"), "every name once"),
]


@pytest.mark.parametrize(("make", "says"), REFUSED, ids=range(len(REFUSED)))
def test_the_first_value_that_means_nothing_is_refused(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make()


@pytest.mark.parametrize(
    ("text", "start"),
    [(None, None), ("uniform", "uniform"), ("random", "random"), (' {"a": 1}', {"a": 1.0}), ("a = 1", {"a": 1.0})],
)  # fmt: skip
def test_a_start_is_a_word_or_shares(text: str | None, start: Any) -> None:
    assert read_start(text) == start


def test_a_copy_is_as_likely_as_the_gap_says_on_both_sides() -> None:
    up, down = Fermi(2.0).copying(1.0, 2.0), Fermi(2.0).copying(2.0, 1.0)
    assert up == pytest.approx(1 / (1 + math.exp(-2))) and up + down == pytest.approx(1)
    assert Fermi(1.0).copying(1e6, 0.0) == 0.0 and Fermi(1.0).copying(0.0, 1e6) == 1.0


@pytest.mark.parametrize(
    ("ratings", "ranks"),
    [
        ([-1.0, 0.0, -0.5], [3.0, 1.0, 2.0]), ([0.0, 0.0, -1.0], [1.5, 1.5, 3.0]), ([-1.0, 0.0, -1.0], [2.5, 1.0, 2.5]),
        ([0.0, -1e-7, -2e-7], [2.0, 2.0, 2.0]), ([0.0, -2e-6], [1.0, 2.0]), ([0.0], [1.0]),
    ],
)  # fmt: skip
def test_types_that_are_as_good_share_the_mean_of_their_ranks(ratings: list[float], ranks: list[float]) -> None:
    made = DeviationRating(np.array(ratings), (), (), np.zeros(0))
    assert made.ranks().tolist() == ranks


@pytest.mark.parametrize("size", [8, 12, 20])
def test_the_ratio_of_a_ring_has_a_closed_form(size: int) -> None:
    """Death-birth (2 N - 4) / (N - 4) and imitation (4 N - 6) / (N - 6): 2 and 4 in large ones."""
    assert critical_ratio(ring(size)) == pytest.approx((2 * size - 4) / (size - 4))
    assert critical_ratio(ring(size), "imitation") == pytest.approx((4 * size - 6) / (size - 6))
