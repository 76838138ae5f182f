"""Replicator dynamics stay on the simplex and end where theory says."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.features.evolution.games import DILEMMA, RPS, Floats, hawk_dove, populations, tensors

from ostrom.features.evolution.replicator import continuous_replicator, exponential_replicator
from ostrom.features.evolution.tensor import as_population, given_start, random_start, uniform_start
from ostrom.ground.errors import UsageError


def literal_replicator(table: Floats, start: list[float], eta: float, steps: int, stop: float) -> list[list[float]]:
    """The rule written out with loops and nothing else."""
    k, path = len(start), [start]
    for _ in range(steps):
        x = path[-1]
        f = []
        for i in range(k):
            total = 0.0
            for others in np.ndindex((k,) * (table.ndim - 1)):
                total += float(table[(i, *others)]) * math.prod(x[j] for j in others)
            f.append(total)
        mean = sum(x[i] * f[i] for i in range(k))
        if max(abs(v - mean) for v in f) < stop:
            break
        grown = [x[i] * math.exp(eta * (f[i] - mean)) for i in range(k)]
        path.append([g / sum(grown) for g in grown])
    return path


@given(st.data(), tensors())
@settings(max_examples=25, deadline=None)
def test_discrete_path_equals_the_literal_rule(data: st.DataObject, table: Floats) -> None:
    start = data.draw(populations(len(table)))
    path = exponential_replicator(table, start, steps=60)
    literal = literal_replicator(table, start.tolist(), 0.1, 60, 1e-6)
    assert path.states.shape == np.array(literal).shape
    assert path.states == pytest.approx(np.array(literal), abs=1e-11)


@given(st.data(), tensors())
@settings(max_examples=25, deadline=None)
def test_the_simplex_is_preserved(data: st.DataObject, table: Floats) -> None:
    start = data.draw(populations(len(table)))
    discrete = exponential_replicator(table, start, eta=0.5, steps=100).states
    smooth = continuous_replicator(table, start, duration=5.0, points=11, precision=1e-8).states
    for states in (discrete, smooth):
        assert np.all(states >= 0.0)
        assert states.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
        assert np.all(states[:, start == 0.0] == 0.0)


@pytest.mark.slow
@given(st.floats(0.5, 4.0), st.floats(1.2, 4.0), st.floats(0.05, 0.95))
@settings(max_examples=10, deadline=None)
def test_hawk_dove_ends_at_value_over_cost(value: float, factor: float, hawks: float) -> None:
    game = hawk_dove(value, factor * value)
    for path in (
        exponential_replicator(game, [hawks, 1 - hawks], steps=20_000, tolerance=1e-9),
        continuous_replicator(game, [hawks, 1 - hawks], duration=2_000.0, points=3),
    ):
        assert path.final[0] == pytest.approx(1.0 / factor, abs=1e-5)
        assert path.settled


@given(populations(3, least=0.1))
@settings(max_examples=15, deadline=None)
def test_rock_paper_scissors_turns_on_closed_orbits_in_continuous_time(start: Floats) -> None:
    path = continuous_replicator(RPS, start, duration=50.0, points=101)
    products = path.states.prod(axis=1)
    assert products == pytest.approx(products[0], rel=1e-7)


def test_rock_paper_scissors_spirals_out_in_discrete_time() -> None:
    path = exponential_replicator(RPS, [0.4, 0.35, 0.25], steps=500)
    products = path.states.prod(axis=1)
    assert np.all(np.diff(products) < 0.0)
    assert not path.settled


@given(st.floats(0.5, 5.0), st.floats(0.5, 5.0), st.floats(0.02, 0.98))
@settings(max_examples=12, deadline=None)
def test_coordination_goes_to_the_side_of_the_analytic_boundary(a: float, b: float, start: float) -> None:
    boundary = b / (a + b)
    if abs(start - boundary) < 0.02:
        return
    winner = 0 if start > boundary else 1
    game = [[a, 0.0], [0.0, b]]
    assert exponential_replicator(game, [start, 1 - start], steps=1500).final[winner] > 0.999
    assert continuous_replicator(game, [start, 1 - start], duration=300.0, points=2).final[winner] > 0.999


def test_a_start_that_satisfies_the_stop_rule_is_returned_unmoved() -> None:
    path = exponential_replicator(RPS)
    assert path.steps == 0
    assert path.settled
    assert path.final.tolist() == uniform_start(3).tolist()


def test_the_stop_rule_is_one_millionth() -> None:
    assert exponential_replicator([[0.0, 0.0], [1.8e-6, 1.8e-6]], steps=9).steps == 0
    assert exponential_replicator([[0.0, 0.0], [2.2e-6, 2.2e-6]], steps=9).steps == 9


def test_the_stop_rule_watches_extinct_types_too() -> None:
    path = exponential_replicator(DILEMMA, [0.0, 1.0], steps=7)
    assert path.steps == 7
    assert not path.settled
    assert path.final.tolist() == [0.0, 1.0]


def test_small_discrete_steps_follow_the_continuous_path() -> None:
    start = [0.5, 0.3, 0.2]
    smooth = continuous_replicator(RPS, start, duration=4.0, points=2).final
    discrete = exponential_replicator(RPS, start, eta=1e-3, steps=4_000, tolerance=0.0).final
    assert discrete == pytest.approx(smooth, abs=1e-3)


def test_enormous_payoffs_do_not_overflow() -> None:
    path = exponential_replicator([[1e6, 0.0], [0.0, -1e6]], steps=10)
    assert path.final.tolist() == [1.0, 0.0]


def test_starts() -> None:
    first = random_start(3, np.random.default_rng(5))
    assert first.tolist() == random_start(3, np.random.default_rng(5)).tolist()
    assert given_start({"b": 1.0}, ["a", "b"]).tolist() == [0.0, 1.0]
    with pytest.raises(UsageError, match="unknown types: c"):
        given_start({"c": 1.0}, ["a", "b"])
    for bad in ([0.5, 0.6], [1.5, -0.5], [1.0], [math.nan, 1.0]):
        with pytest.raises(UsageError, match="population"):
            as_population(bad, 2)
    with pytest.raises(UsageError, match="eta > 0"):
        exponential_replicator(DILEMMA, eta=0.0)
