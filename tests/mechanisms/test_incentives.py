"""What a game makes worthwhile, and the shape of networks, by hand."""

import numpy as np
import pytest

from ostrom.games import build_game
from ostrom.games.tensor import TensorGame
from ostrom.mechanisms.incentives import is_equilibrium, is_weakly_dominant, lasting_game
from ostrom.mechanisms.networks import lattice, linked, networks

AB = ("a", "b")


def game(*points: tuple[float, float]) -> TensorGame:
    return TensorGame("g", (AB, AB), np.array(points, dtype=float).reshape(2, 2, 2))


@pytest.mark.parametrize(
    ("points", "profile", "stable"),
    [
        (((1, 1), (0, 1), (1, 0), (0, 0)), (0, 0), True),
        (((1, 1), (0, 2), (1, 0), (0, 0)), (0, 0), False),
        (((1, 1), (0, 1), (2, 0), (0, 0)), (0, 0), False),
        (((1, 1), (0, 1), (1 + 1e-10, 0), (0, 0)), (0, 0), True),
        (((0, 0), (0, 3), (3, 0), (2, 2)), (1, 1), True),
        (((0, 0), (3, 0), (3, 0), (2, 2)), (1, 1), False),
    ],
)
def test_nobody_gains_by_leaving_an_equilibrium(
    points: tuple[tuple[float, float], ...], profile: tuple[int, int], stable: bool
) -> None:
    assert is_equilibrium(game(*points), profile) == stable


@pytest.mark.parametrize(
    ("paid", "dominant"),
    [
        ((1, 1, 0, 0), True), ((1, 1, 1, 0), True), ((1, 1, 1, 1), False), ((1, 0, 0, 1), False),
        ((1, 1, 1, 1 - 1e-10), False), ((1, 1 - 1e-10, 0, 1), True),
    ],
)  # fmt: skip
def test_a_dominant_action_is_never_worse_and_sometimes_better(paid: tuple[float, ...], dominant: bool) -> None:
    rows = np.array(paid).reshape(2, 2)
    one = game(*((x, 0) for x in paid))
    other = TensorGame("g", (AB, AB), np.stack([np.zeros((2, 2)), rows.T], axis=-1))
    assert is_weakly_dominant(one, 0, 0) == is_weakly_dominant(other, 1, 0) == dominant


def test_the_game_between_ways_to_play_many_rounds() -> None:
    pd = build_game("prisoners_dilemma:coopeval")
    made = lasting_game(pd, 0.5)
    assert made is not None and made.name == "prisoners_dilemma_lasting"
    assert [made.payoff(p) for p in ((0, 0), (0, 1), (1, 0), (1, 1))] == [(2, 2), (0.5, 2), (2, 0.5), (1, 1)]
    once = lasting_game(pd, 0.0)
    assert once is not None and np.array_equal(once.payoffs, pd.payoffs)
    assert lasting_game(pd, None) is None
    assert lasting_game(game((0, 0), (0, 3), (3, 0), (2, 2)), 0.5) is None
    for cooperative, defective in (((0, None), ()), ((0, 0), (1, None)), ((0, None), (1, 1))):
        assert lasting_game(TensorGame("g", (AB, AB), pd.payoffs, cooperative, defective), 0.5) is None


@pytest.mark.parametrize(("size", "degree", "pairs"), [(3, 2, 3), (5, 4, 10), (6, 4, 12), (7, 2, 7)])
def test_a_ring_links_everybody_to_the_nearest(size: int, degree: int, pairs: int) -> None:
    found = lattice(range(size), degree)
    assert len(set(map(frozenset, found))) == len(found) == pairs
    assert [len(around) for around in linked(size, found)] == [degree] * size
    assert linked(size, found)[0] >= {1, size - 1}


@pytest.mark.parametrize(("size", "degree"), [(5, 3), (5, 0), (4, 4), (2, 2), (5, 6)])
def test_a_ring_that_cannot_be_is_refused(size: int, degree: int) -> None:
    with pytest.raises(ValueError, match=f"degree must be even and from 2 to {size - 1} among {size} members"):
        lattice(range(size), degree)


def test_newcomers_join_a_first_group_that_is_whole() -> None:
    grown = networks.build("scale_free:2")
    assert grown.links(3, np.random.default_rng(0)) == [{1, 2}, {0, 2}, {0, 1}]
    assert sum(map(len, grown.links(9, np.random.default_rng(0)))) == 2 * (3 + 2 * 6)
    with pytest.raises(ValueError, match=r"joins must be below the number of members \(2\), found 2"):
        grown.links(2, np.random.default_rng(0))
    apart = networks.build("communities:2,2,0,0").links(7, np.random.default_rng(0))
    assert apart == [{1, 2}, {0, 2}, {0, 1}, {4, 6}, {3, 5}, {4, 6}, {3, 5}]
    joined = networks.build("communities:2,2,0,3").links(7, np.random.default_rng(0))
    assert sum(map(len, joined)) == sum(map(len, apart)) + 6
