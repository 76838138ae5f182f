"""The deviation rating is the lexicographic optimum, whichever vertex a solver happens to return."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.features.evolution.games import DILEMMA, RPS, Floats, permuted, tensors

from ostrom.features.evolution.process import deviation_gains, deviation_rating


def strictest_gains(table: Floats) -> Floats:
    """Sorted gains by another route: ordered profiles, and least sums of the 1, 2, 3, ... largest gains."""
    tables = [np.moveaxis(table, 0, seat) for seat in range(table.ndim)]
    shape = table.shape
    rows = []
    for seat, payoff in enumerate(tables):
        for kind in range(shape[0]):
            moved = np.take(payoff, [kind], axis=seat)
            rows.append(np.broadcast_to(moved, shape).ravel() - payoff.ravel())
    gains = np.array(rows)
    count, profiles = gains.shape
    # Variables: distribution, then for every k a threshold t_k and excesses d_k; the sum of the k largest
    # gains is the least k t_k + sum d_k.
    width = profiles + count * (1 + count)
    limits: list[float] = []
    blocks: list[Floats] = []
    sums: list[float] = []
    for k in range(1, count + 1):
        at = profiles + (k - 1) * (1 + count)
        for r in range(count):
            row = np.zeros(width)
            row[:profiles], row[at], row[at + 1 + r] = gains[r], -1.0, -1.0
            blocks.append(row)
            limits.append(0.0)
        objective = np.zeros(width)
        objective[at], objective[at + 1 : at + 1 + count] = k, 1.0
        bounds = [(0.0, None)] * width
        for j in range(count):
            bounds[profiles + j * (1 + count)] = (None, None)  # type: ignore[assignment]
        total = np.zeros((1, width))
        total[0, :profiles] = 1.0
        answer = linprog(objective, A_ub=np.array(blocks), b_ub=limits, A_eq=total, b_eq=[1.0], bounds=bounds)
        assert answer.status == 0
        sums.append(float(objective @ np.asarray(answer.x)))
        blocks.append(objective)
        limits.append(sums[-1] + 1e-9)
    return np.diff(np.array([0.0, *sums]))


@pytest.mark.slow
@given(tensors(types=(2, 3)))
@example(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
@settings(max_examples=20, deadline=None)
def test_ratings_are_the_strictest_gains_of_the_full_game(table: Floats) -> None:
    ratings = np.sort(np.repeat(deviation_rating(table).ratings, table.ndim))[::-1]
    assert ratings == pytest.approx(strictest_gains(table), abs=1e-5)


@pytest.mark.slow
@given(tensors(types=(2, 4)), st.permutations(range(4)))
@settings(max_examples=20, deadline=None)
def test_the_order_of_types_does_not_matter(table: Floats, order: list[int]) -> None:
    order = [i for i in order if i < len(table)]
    ratings = deviation_rating(table).ratings
    assert deviation_rating(permuted(table, order)).ratings == pytest.approx(ratings[order], abs=1e-7)


@given(tensors())
@settings(max_examples=15, deadline=None)
def test_the_equilibrium_returned_attains_the_ratings(table: Floats) -> None:
    rating = deviation_rating(table)
    profiles, gains = deviation_gains(table)
    assert rating.profiles == profiles
    assert rating.weights.sum() == pytest.approx(1.0)
    assert gains @ rating.weights == pytest.approx(rating.ratings, abs=1e-6)
    assert rating.ratings.max() <= 1e-8
    assert sorted(sum(rating.stages, ())) == list(range(len(table)))


@pytest.mark.slow
@given(tensors(types=(2, 3)), st.integers(0, 2))
@settings(max_examples=15, deadline=None)
def test_a_clone_changes_nobodys_rating(table: Floats, which: int) -> None:
    order = [*range(len(table)), which % len(table)]
    ratings = deviation_rating(table).ratings
    assert deviation_rating(permuted(table, order)).ratings == pytest.approx(ratings[order], abs=1e-6)


def test_dominance_solvable_games_rate_against_the_solution() -> None:
    assert deviation_rating(DILEMMA).ratings == pytest.approx(np.array([-1.0, 0.0]), abs=1e-9)
    # Iterated dominance leaves type 2; the others lose their distance to it there.
    ladder = np.array([[1.0, 0.0, -3.0], [2.0, 1.0, -1.0], [1.5, 2.0, 0.5]])
    assert deviation_rating(ladder).ratings == pytest.approx(ladder[:, 2] - 0.5, abs=1e-9)


def test_public_goods_with_three_seats_rates_the_free_rider_first() -> None:
    table = np.zeros((2, 2, 2))
    for own, a, b in np.ndindex(2, 2, 2):
        givers = 3 - own - a - b
        table[own, a, b] = 0.5 * givers + own
    rating = deviation_rating(table)
    assert rating.ratings == pytest.approx(np.array([-0.5, 0.0]), abs=1e-9)
    assert rating.ranks().tolist() == [2.0, 1.0]


def test_ties_share_their_rank() -> None:
    rating = deviation_rating(RPS)
    assert rating.ratings == pytest.approx(np.zeros(3), abs=1e-9)
    assert rating.ranks().tolist() == [2.0, 2.0, 2.0]
    assert deviation_rating([[1.0]]).ratings.tolist() == [0.0]
