"""Transfers sum to zero to the last bit, and contracts neither create nor destroy points."""

from fractions import Fraction
from itertools import permutations
from math import fsum, ulp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrom.games import build_game
from ostrom.games.tensor import TensorGame
from ostrom.mechanisms.designs import contracted_game, contracted_payoffs, default_bound, transfers

CONTRACTS = st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=5)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    contract = draw(CONTRACTS)
    seats = draw(st.integers(2, 9))
    return contract, draw(st.lists(st.integers(0, len(contract) - 1), min_size=seats, max_size=seats))


@given(case=cases())
@settings(max_examples=100)
def test_transfers_sum_to_zero_in_any_order(case: tuple[list[int], list[int]]) -> None:
    paid = transfers(*case)
    assert sum(paid) == 0.0 == sum(reversed(paid)) == fsum(paid) == float(np.sum(paid))
    assert sum(map(Fraction, paid)) == 0


@given(case=cases())
@settings(max_examples=100)
def test_transfers_are_the_stated_ones_but_for_a_tiny_unit(case: tuple[list[int], list[int]]) -> None:
    contract, profile = case
    amounts = [contract[a] for a in profile]
    for seat, paid in enumerate(transfers(contract, profile)):
        rest = sum(amounts) - amounts[seat]
        exact = Fraction(amounts[seat]) - Fraction(rest, len(profile) - 1)
        error = abs(Fraction(paid) - exact)
        assert error <= Fraction(len(profile) * max(1, *map(abs, amounts)), 2**50)
        if len(profile) - 1 in (1, 2, 4, 8):
            assert error == 0


def test_the_sum_is_zero_in_whatever_order_three_are_added() -> None:
    for order in permutations(transfers([1, 0], (0, 1, 1, 1))):
        assert sum(order) == 0.0


def test_a_positive_amount_is_paid_by_the_others_in_equal_parts() -> None:
    assert transfers([6, 0], (0, 1, 1)) == (6.0, -3.0, -3.0)
    assert transfers([0, -6], (0, 1, 0)) == (3.0, -6.0, 3.0)
    assert transfers([5, 5], (0, 1, 0)) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "spec", ["prisoners_dilemma:coopeval", "public_goods", "travelers_dilemma", "trust", "public_goods:4,2"]
)
def test_a_contract_leaves_the_sum_of_payoffs_as_it_was(spec: str) -> None:
    game = build_game(spec)
    for contract in ([7, -3, 2, 1], [1, 0, 0, 0], [-15, 15, 3, -1]):
        for profile in game.profiles():
            before, after = game.payoff(profile), contracted_payoffs(game, contract, profile)
            assert sum(map(Fraction, after)) == sum(map(Fraction, before))


@given(st.lists(st.floats(-100, 100), min_size=8, max_size=8), st.integers(-50, 50), st.integers(-50, 50))
@settings(max_examples=60)
def test_awkward_payoffs_lose_less_than_a_double_can_show(values: list[float], c: int, d: int) -> None:
    game = TensorGame("awkward", (("a", "b"), ("a", "b")), np.reshape(values, (2, 2, 2)))
    for profile in game.profiles():
        before, after = game.payoff(profile), contracted_payoffs(game, [c, d], profile)
        gap = sum(map(Fraction, after), Fraction()) - sum(map(Fraction, before), Fraction())
        assert abs(float(gap)) <= min(map(ulp, after))


def test_the_contracted_game_pays_what_the_contract_says() -> None:
    game = contracted_game(build_game("prisoners_dilemma:coopeval"), [0, -2])
    assert game.payoffs.tolist() == [[[2, 2], [2, 1]], [[1, 2], [1, 1]]]


def test_the_bound_is_ten_ranges_of_the_payoffs() -> None:
    assert default_bound(build_game("trust")) == 200
    assert default_bound(build_game("public_goods")) == 15
    assert default_bound(TensorGame("flat", (("a",), ("a",)), np.zeros((1, 1, 2)))) == 1
