"""Randomness: keyed by what is drawn, alike in arrays, and evenly spread."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ostrom.ground.streams import Streams, chances

WORD = st.integers(0, 2**64 - 1)


@given(WORD, WORD, st.integers(0, 10**6), st.integers(0, 1000), st.text(max_size=8))
def test_one_number_equals_its_place_in_an_array(seed: int, match: int, step: int, seat: int, why: str) -> None:
    streams = Streams(seed, match)
    array = chances(np.array([streams.base_key(why)] * 3, dtype=np.uint64), step, seat)
    assert array.tolist() == [streams.chance(step, seat, why)] * 3


@given(WORD, WORD)
def test_neighbouring_places_have_numbers_of_their_own(seed: int, match: int) -> None:
    streams = Streams(seed, match)
    drawn = {streams.chance(step, seat, why) for step in range(20) for seat in range(5) for why in ("", "a")}
    assert len(drawn) == 200
    assert all(0 <= u < 1 for u in drawn)


def test_numbers_are_even_and_unrelated() -> None:
    """Mean, variance and neighbours of a hundred thousand numbers, five standard errors wide."""
    places = [(seed, step, seat) for seed in range(20) for step in range(500) for seat in range(10)]
    u = np.array([Streams(seed, 3).chance(step, seat) for seed, step, seat in places])
    n = len(u)
    assert abs(u.mean() - 0.5) < 5 * np.sqrt(1 / 12 / n)
    assert abs((u**2).mean() - 1 / 3) < 5 * np.sqrt(4 / 45 / n)
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 5 / np.sqrt(n)
    counts, _ = np.histogram(u, 64, (0, 1))
    assert abs(counts - n / 64).max() < 5.5 * np.sqrt(n / 64)


def test_a_fork_draws_anew_from_its_first_own_round_on() -> None:
    origin, alone = Streams(1, 7), Streams(9, 2)
    fork = Streams(9, 2, origin=origin, since=3)
    for number in range(6):
        expected = origin if number < 3 else alone
        assert fork.for_round(number, 1, "tremble").random() == expected.generator(number, 1, "tremble").random()
    assert origin.generator(3, 1, "tremble").random() != alone.generator(3, 1, "tremble").random()
