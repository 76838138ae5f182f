"""Alpha-rank finds dominant types, treats cycles fairly and matches the paper's closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.dynamics.games import DILEMMA, RPS, Floats, permuted, tensors

from ostrom.analysis.dynamics.alpharank import (
    alpha_rank,
    alpha_rank_profiles,
    alpha_sweep,
    log_constant_fixation,
    symmetric_tables,
)
from ostrom.errors import UsageError


@given(st.integers(2, 5), st.integers(0, 4), st.sampled_from([0.5, 5.0, 500.0]))
@settings(max_examples=20, deadline=None)
def test_a_dominant_type_takes_all_mass(types: int, best: int, alpha: float) -> None:
    best %= types
    game = np.zeros((types, types))
    game[best] = 3.0
    assert alpha_rank(game, alpha=alpha)[best] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 10.0, 1e4])
def test_rock_paper_scissors_is_shared_equally(alpha: float) -> None:
    assert alpha_rank(RPS, alpha=alpha) == pytest.approx(np.full(3, 1 / 3), abs=1e-9)


def test_rock_paper_scissors_profiles_share_by_symmetry() -> None:
    mass = alpha_rank_profiles([RPS, -RPS], alpha=20.0)
    assert mass.sum() == pytest.approx(1.0)
    assert np.diag(mass) == pytest.approx(np.full(3, mass[0, 0]))
    assert mass.sum(axis=0) == pytest.approx(np.full(3, 1 / 3), abs=1e-9)


@given(tensors(), st.permutations(range(4)))
@settings(max_examples=25, deadline=None)
def test_the_order_of_types_does_not_matter(table: Floats, order: list[int]) -> None:
    order = [i for i in order if i < len(table)]
    mass = alpha_rank(table, alpha=3.0, population=8)
    assert alpha_rank(permuted(table, order), alpha=3.0, population=8) == pytest.approx(mass[order], abs=1e-9)


@given(tensors(types=(2, 3)))
@settings(max_examples=15, deadline=None)
def test_profile_masses_are_an_eigenvector_of_the_papers_chain(table: Floats) -> None:
    tables, alpha, m = symmetric_tables(table), 0.4, 10
    shape = tables[0].shape
    size = math.prod(shape)
    chain = np.zeros((size, size))
    for a in np.ndindex(shape):
        for b in np.ndindex(shape):
            changed = [s for s in range(len(shape)) if a[s] != b[s]]
            if len(changed) == 1:
                gap = alpha * float(tables[changed[0]][b] - tables[changed[0]][a])
                fix = 1 / m if gap == 0.0 else (1 - math.exp(-gap)) / (1 - math.exp(-m * gap))
                chain[np.ravel_multi_index(a, shape), np.ravel_multi_index(b, shape)] = fix / sum(
                    n - 1 for n in shape
                )
    np.fill_diagonal(chain, 1.0 - chain.sum(axis=1))
    mass = alpha_rank_profiles(tables, alpha=alpha, population=m).ravel()
    assert mass @ chain == pytest.approx(mass, abs=1e-12)


@given(st.floats(-2.0, 2.0).filter(lambda u: abs(u) > 1e-3), st.integers(2, 50))
def test_constant_fixation_is_the_papers_ratio(u: float, m: int) -> None:
    assert math.exp(log_constant_fixation(u, m)) == pytest.approx(
        math.expm1(-u) / math.expm1(-m * u), rel=1e-9
    )


def test_a_sweep_says_from_where_on_nothing_changes() -> None:
    sweep = alpha_sweep(DILEMMA, [0.001, 1.0, 10.0, 100.0])
    assert sweep.settled_at == 1.0
    assert sweep.masses.shape == (4, 2)
    assert alpha_sweep(DILEMMA, [0.001, 0.1]).settled_at is None
    with pytest.raises(UsageError, match="rising"):
        alpha_sweep(DILEMMA, [1.0, 1.0])
    with pytest.raises(UsageError, match="alpha must be"):
        alpha_rank(DILEMMA, alpha=math.inf)
