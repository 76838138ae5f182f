"""Alpha-rank finds dominant types, and treats cycles fairly."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.features.evolution.games import DILEMMA, RPS, Floats, permuted, tensors

from ostrom.features.evolution.process import alpha_rank, alpha_sweep
from ostrom.ground.errors import UsageError


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


@given(tensors(), st.permutations(range(4)))
@settings(max_examples=25, deadline=None)
def test_the_order_of_types_does_not_matter(table: Floats, order: list[int]) -> None:
    order = [i for i in order if i < len(table)]
    mass = alpha_rank(table, alpha=3.0, population=8)
    assert alpha_rank(permuted(table, order), alpha=3.0, population=8) == pytest.approx(mass[order], abs=1e-9)


def test_a_sweep_says_from_where_on_nothing_changes() -> None:
    sweep = alpha_sweep(DILEMMA, [0.001, 1.0, 10.0, 100.0])
    assert sweep.settled_at == 1.0
    assert sweep.masses.shape == (4, 2)
    assert alpha_sweep(DILEMMA, [0.001, 0.1]).settled_at is None
    with pytest.raises(UsageError, match="rising"):
        alpha_sweep(DILEMMA, [1.0, 1.0])
    with pytest.raises(UsageError, match="alpha must be"):
        alpha_rank(DILEMMA, alpha=math.inf)
