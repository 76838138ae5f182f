"""Basin sampling finds the attractors that theory names, with honest shares."""

import numpy as np
import pytest
from tests.features.evolution.games import DILEMMA, RPS, hawk_dove

from ostrom.features.evolution.replicator import sample_basins
from ostrom.ground.errors import UsageError


@pytest.mark.slow
def test_coordination_shares_cover_the_analytic_boundary() -> None:
    basins = sample_basins([[3.0, 0.0], [0.0, 1.0]], np.random.default_rng(4), samples=400, steps=3000)
    big, small = basins.attractors
    assert (big.kind, big.support, small.kind, small.support) == ("point", (0,), "point", (1,))
    # Starts with more than 1/4 of type 0 go to it; uniform starts make that 3/4 of the segment.
    assert big.low <= 0.75 <= big.high
    assert all(basins.starts[s, 0] > 0.25 for s in big.starts)
    assert all(basins.starts[s, 0] < 0.25 for s in small.starts)
    assert big.share + small.share == 1.0


def test_hawk_dove_has_one_interior_point() -> None:
    (only,) = sample_basins(hawk_dove(1.0, 2.0), np.random.default_rng(1), samples=40).attractors
    assert (only.kind, only.support, only.share) == ("point", (0, 1), 1.0)
    assert only.centre == pytest.approx([0.5, 0.5], abs=1e-4)


def test_a_dominant_type_is_one_pure_point() -> None:
    (only,) = sample_basins(DILEMMA, np.random.default_rng(1), samples=40).attractors
    assert (only.kind, only.support) == ("point", (1,))


def test_rock_paper_scissors_is_named_a_cycle() -> None:
    (only,) = sample_basins(RPS, np.random.default_rng(2), samples=30).attractors
    assert (only.kind, only.support) == ("cycle", (0, 1, 2))


def test_damped_cycles_end_in_a_point() -> None:
    damped = RPS + np.where(RPS > 0, 1.0, 0.0)
    (only,) = sample_basins(damped, np.random.default_rng(2), samples=30).attractors
    assert only.kind == "point"
    assert only.centre == pytest.approx(np.full(3, 1 / 3), abs=1e-4)


def test_neutral_types_form_a_continuum() -> None:
    game = [[1.0, 1.0, 0.9], [1.0, 1.0, 0.9], [0.0, 0.0, 0.0]]
    (only,) = sample_basins(game, np.random.default_rng(3), samples=60).attractors
    assert (only.kind, only.support) == ("continuum", (0, 1))


def test_a_path_cut_short_is_called_unsettled() -> None:
    (only,) = sample_basins(DILEMMA, np.random.default_rng(1), samples=20, steps=20, window=10).attractors[:1]
    assert only.kind == "unsettled"


def test_a_swing_that_dies_down_is_no_cycle() -> None:
    damped = RPS + np.where(RPS > 0, 0.2, 0.0)
    (only,) = sample_basins(damped, np.random.default_rng(2), samples=10, steps=1500).attractors
    assert only.kind == "unsettled"


def test_a_stay_near_a_saddle_is_no_rest() -> None:
    found = sample_basins(
        DILEMMA, np.random.default_rng(5), samples=40, concentration=0.1, steps=30, window=10
    ).attractors
    assert all(a.support == (1,) for a in found if a.kind == "point")
    assert any(a.support == (0,) for a in found if a.kind == "unsettled")


@pytest.mark.slow
def test_the_same_stream_gives_the_same_basins() -> None:
    first, second = (sample_basins(RPS, np.random.default_rng(9), samples=10) for _ in range(2))
    assert np.array_equal(first.attractors[0].centre, second.attractors[0].centre)


def test_a_window_longer_than_the_path_is_refused() -> None:
    with pytest.raises(UsageError, match="window"):
        sample_basins(RPS, np.random.default_rng(0), steps=5)
