"""Finite populations: exact fixation, the rare-mutation limit and simulation agree with closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.features.evolution.games import DILEMMA, RPS, Floats, tensors

from ostrom.analysis.intervals import share_of
from ostrom.features.evolution.process import (
    Fermi,
    Moran,
    Process,
    finite_payoffs,
    log_fixation,
    log_invasion_rates,
    pair_payoffs,
    rare_mutation_shares,
    simulate,
    stationary,
)
from ostrom.ground.errors import UsageError


def taken_over(
    game: list[list[float]] | Floats, process: Process, *, mutant: int, population: int, mutants: int = 1
) -> float:
    """The chance that some mutants take over a population of the other type."""
    ratios = process.log_ratio(*pair_payoffs(np.array(game), mutant, 1 - mutant, population))
    return math.exp(log_fixation(ratios, mutants))


@given(st.floats(0.2, 5.0).filter(lambda r: abs(r - 1.0) > 1e-3), st.integers(2, 60))
@settings(max_examples=60)
def test_constant_fitness_fixes_with_morans_formula(r: float, population: int) -> None:
    expected = (1 - 1 / r) / (1 - r**-population)
    game = [[r, r], [1.0, 1.0]]
    found = taken_over(game, Moran(1.0), mutant=0, population=population)
    assert found == pytest.approx(expected, rel=1e-9)


@given(st.floats(-3.0, 3.0).filter(lambda u: abs(u) > 1e-3), st.integers(2, 60), st.data())
@settings(max_examples=60)
def test_constant_advantage_under_fermi_fixes_with_its_closed_form(
    u: float, population: int, data: st.DataObject
) -> None:
    mutants = data.draw(st.integers(1, population - 1))
    expected = math.expm1(-u * mutants) / math.expm1(-u * population)
    game = [[u, u], [0.0, 0.0]]
    found = taken_over(game, Fermi(1.0), mutant=0, population=population, mutants=mutants)
    assert found == pytest.approx(expected, rel=1e-9)


@given(tensors(types=(2, 2)), st.integers(3, 9), st.sampled_from([Fermi(0.7), Moran(0.3, "exponential")]))
@settings(max_examples=20, deadline=None)
def test_fixation_solves_the_absorbing_chain(table: Floats, population: int, process: Process) -> None:
    mutant, resident = pair_payoffs(table, 0, 1, population)
    ratio = np.exp(process.log_ratio(mutant, resident))
    # phi_j = (phi_{j+1} + ratio phi_{j-1}) / (1 + ratio), phi_0 = 0, phi_N = 1
    inner = population - 1
    system, right = np.eye(inner), np.zeros(inner)
    for j in range(inner):
        up, down = 1 / (1 + ratio[j]), ratio[j] / (1 + ratio[j])
        if j + 1 < inner:
            system[j, j + 1] -= up
        else:
            right[j] += up
        if j > 0:
            system[j, j - 1] -= down
    expected = np.linalg.solve(system, right)
    for j in range(1, population):
        assert math.exp(log_fixation(np.log(ratio), j)) == pytest.approx(expected[j - 1], rel=1e-7, abs=1e-12)


@given(tensors(types=(2, 2)), st.integers(3, 8), st.data())
@settings(max_examples=20, deadline=None)
def test_both_ways_to_average_over_opponents_agree(table: Floats, population: int, data: st.DataObject) -> None:
    j = data.draw(st.integers(1, population - 1))
    mutant, resident = pair_payoffs(table, 0, 1, population)
    both = finite_payoffs(table, (j, population - j))
    assert both == pytest.approx(np.array([mutant[j - 1], resident[j - 1]]), abs=1e-12)


def test_nobody_meets_oneself() -> None:
    assert finite_payoffs(DILEMMA, (1, 1)).tolist() == [0.0, 3.0]
    assert finite_payoffs(DILEMMA, (2, 0))[0] == 2.0
    assert math.isnan(finite_payoffs(DILEMMA, (2, 0))[1])
    with pytest.raises(UsageError, match="3 seats needs a population of 3"):
        simulate(np.zeros((2, 2, 2)), Fermi(1.0), (1, 1), np.random.default_rng(0), steps=1)


@pytest.mark.slow
@pytest.mark.parametrize("process", [Fermi(0.4), Moran(0.2), Moran(0.4, "exponential")])
def test_simulated_fixation_covers_the_exact_value(process: Process) -> None:
    exact = taken_over(DILEMMA, process, mutant=1, population=6)
    paths = [simulate(DILEMMA, process, (5, 1), rng, steps=9999) for rng in np.random.default_rng(11).spawn(600)]
    assert all(path.settled for path in paths)
    taken = share_of(sum(int(path.final[1]) for path in paths), 600, unit="run").limits(0.999)
    assert taken.both[0] <= exact <= taken.both[1]


def test_nobody_compares_with_oneself() -> None:
    rng, process = np.random.default_rng(6), Fermi(0.0)
    steps = [process.step(np.array([1.0, 1.0]), np.array([0.0, 0.0]), rng) for _ in range(400)]
    # Half of all comparisons of two types copy; comparisons with oneself would make it a quarter.
    assert sum(gone != born for gone, born in steps) == pytest.approx(200, abs=50)


def test_simulation_is_a_function_of_its_stream() -> None:
    paths = [
        simulate(RPS, Fermi(1.0), (4, 4, 4), np.random.default_rng(3), steps=200, mutation=0.05).states
        for _ in range(2)
    ]
    assert np.array_equal(paths[0], paths[1])
    assert paths[0].shape == (201, 3)
    assert paths[0].sum(axis=1) == pytest.approx(1.0)


def test_without_mutation_a_path_ends_when_one_type_is_alone() -> None:
    path = simulate(DILEMMA, Fermi(5.0), (3, 3), np.random.default_rng(0), steps=10_000)
    assert path.settled
    assert path.final.tolist() == [0.0, 1.0]
    assert path.steps < 10_000


@pytest.mark.slow
def test_long_simulation_with_rare_mutation_approaches_the_limit_chain() -> None:
    game = np.array([[1.0, 0.8], [1.1, 0.9]])
    limit = rare_mutation_shares(game, Fermi(2.0), 5)
    path = simulate(game, Fermi(2.0), (5, 0), np.random.default_rng(8), steps=30_000, mutation=0.005)
    assert path.states.mean(axis=0) == pytest.approx(limit, abs=0.08)


@given(tensors(types=(3, 4)), st.integers(3, 12))
@settings(max_examples=30, deadline=None)
def test_rare_mutation_shares_are_stationary(table: Floats, population: int) -> None:
    rates = np.exp(log_invasion_rates(table, Fermi(0.3), population))
    shares = rare_mutation_shares(table, Fermi(0.3), population)
    assert shares.sum() == pytest.approx(1.0)
    assert shares @ rates == pytest.approx(shares * rates.sum(axis=1), abs=1e-12)


def test_stationary_survives_rates_beyond_floating_range() -> None:
    shares = stationary([[0.0, -5000.0, -9000.0], [-5001.0, 0.0, -9000.0], [-5000.0, -9000.0, 0.0]])
    assert shares[:2] == pytest.approx(np.array([1.0, math.e]) / (1.0 + math.e), rel=1e-9)
    with pytest.raises(UsageError, match="no unique stationary"):
        stationary([[0.0, 0.0], [-math.inf, 0.0]])


def test_processes_refuse_what_they_cannot_mean() -> None:
    with pytest.raises(UsageError, match="fitness must be positive"):
        taken_over([[-9.0, -9.0], [1.0, 1.0]], Moran(1.0), mutant=0, population=5)
    with pytest.raises(UsageError, match="at most 1"):
        Moran(2.0)
    with pytest.raises(UsageError, match="beta"):
        Fermi(-1.0)
