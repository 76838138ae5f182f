"""A game is well formed or refused."""

from typing import Any

import numpy as np
import pytest

from ostrom.games import build_game
from ostrom.games.amounts import Amounts
from ostrom.games.formula import Formula, Term
from ostrom.games.tensor import TensorGame, check_size
from ostrom.ground.errors import GameError

AB = ("a", "b")


def test_seats_are_players_only_where_they_are_interchangeable() -> None:
    assert build_game("prisoners_dilemma").roles == ("player", "player")
    assert build_game("public_goods:4").roles == ("player",) * 4
    assert TensorGame("g", (AB, AB), np.arange(8.0).reshape(2, 2, 2)).roles == ("player_1", "player_2")
    assert TensorGame("g", (AB, ("c", "d")), np.zeros((2, 2, 2))).roles == ("player_1", "player_2")


def test_payoffs_cannot_be_changed_and_do_not_follow_the_array_they_came_from() -> None:
    source = np.zeros((2, 2, 2))
    game = TensorGame("g", (AB, AB), source)
    source[0, 0] = 7
    assert game.payoff((0, 0)) == (0, 0)
    with pytest.raises(ValueError, match="read-only"):
        game.payoffs[0, 0, 0] = 1


def test_expected_payoffs_are_exact() -> None:
    game = build_game("prisoners_dilemma:coopeval")
    assert game.expected([(0.5, 0.5), (0.25, 0.75)]) == pytest.approx((1.0, 1.75))


def refused(says: str, **parts: object) -> None:
    good: dict[str, object] = {"name": "g", "actions": (AB, AB), "payoffs": np.zeros((2, 2, 2))}
    with pytest.raises(GameError, match=says):
        TensorGame(**(good | parts))  # type: ignore[arg-type]


def test_badly_formed_games_are_refused() -> None:
    refused("at least one action", actions=())
    refused("at least one action", actions=(AB, ()))
    refused("names an action twice", actions=(AB, ("a", "a")))
    refused("without a name", actions=(AB, ("a", " ")))
    refused("shape", payoffs=np.zeros((2, 2)))
    refused("finite", payoffs=np.full((2, 2, 2), np.nan))
    refused("full tensor of numbers", payoffs=[[1, 2], [3]])
    refused("full tensor of numbers", payoffs="many")
    refused("not an action", cooperative=(0, 2))
    refused("not an action", cooperative=(0, "a"))
    refused("names 1 seats", cooperative=(0,))
    refused("3 roles for 2 seats", roles=("x", "y", "z"))
    refused("more than 30", actions=(("a",),) * 31)
    refused("profiles are more than", actions=(AB,) * 25)
    refused("formerly needs one name", formerly=("c",))
    refused("formerly needs one name", formerly=("c", "c"))
    refused("told must hold", told=np.zeros((2, 2, 2)))
    refused("seat 2 must be told its own payoffs", told=np.stack([np.zeros((2, 2, 2)), np.ones((2, 2, 2))]))
    refused("the formula does not give", formula=Formula(0, (Term(0, 0), Term(1, 0))))


def test_the_largest_games_are_built() -> None:
    assert TensorGame("g", (("a",),) * 30, np.zeros((1,) * 30 + (30,))).seats == 30
    check_size("g", [1000, 1000])
    with pytest.raises(GameError, match="1001000 profiles are more than 1000000"):
        check_size("g", [1000, 1001])


def test_what_a_game_says_of_its_actions() -> None:
    paid = np.array([[[3.0, 3], [0, 5]], [[5, 0], [1, 1]]])
    told = np.stack([paid, paid])
    told[0, ..., 1] = 9
    game = TensorGame("g", (AB, AB), paid, (0, None), told=told, formerly=("c", "d"))
    assert [game.cooperates(0, 0), game.cooperates(0, 1), game.cooperates(1, 0)] == [True, False, None]
    assert (game.defective, game.best_total) == ((1, None), 6)
    assert (game.stated_payoff(0, (0, 1)), game.stated_payoff(1, (0, 1))) == ((0, 9), (0, 5))
    assert [game.index(1, name) for name in ("a", "b", "c", "d")] == [0, 1, 0, 1]
    assert [game.has_action(0, name) for name in ("a", "d", "e")] == [True, True, False]
    with pytest.raises(GameError, match=r"^game g: seat 2 has no action 'e' \(allowed: a, b\)$"):
        game.index(1, "e")
    trust = build_game("trust_amounts")
    assert (trust.amount(0, 10), trust.value(0, 10), trust.amount(1, len(trust.actions[1]) - 1)) == (10, 10, None)
    assert trust.value(1, len(trust.actions[1]) - 1) == "no_move" and game.amount(0, 0) is None
    with pytest.raises(GameError, match="seat 1 names an amount"):
        trust.named_actions(0)


HALVES = Amounts(2, 4, 0.5, few=(2, 3), also=("pass",))


def test_amounts_are_a_sequence_of_names() -> None:
    assert list(HALVES) == ["2", "2.5", "3", "3.5", "4", "pass"] and len(HALVES) == 6
    assert (HALVES.levels, HALVES.decimals, HALVES.few) == (5, 1, (2, 3))
    assert (HALVES[-1], HALVES[-2], HALVES[1:3]) == ("pass", "4", ("2.5", "3"))
    assert [HALVES.index(x) for x in (2, 4, "3.5", "pass")] == [0, 4, 3, 5]
    tried: list[Any] = [2, 4.0, "2.5", "pass", 4.5, 1.5, "2.50", "x", None, [], 2.25]
    assert [x in HALVES for x in tried] == [True] * 4 + [False] * 7
    assert not Amounts(0, 1).has(True) and Amounts(3, 3).levels == 1
    assert repr(HALVES) == "Amounts(2, 4, 0.5, few=(2, 3), also=('pass',))"
    assert len({HALVES, Amounts(2, 4, 0.5, (2, 3), ("pass",)), Amounts(2, 4, 0.5, (2, 3))}) == 2
    assert Amounts(2, 4, 0.5) != HALVES
    for beyond in (-1, 5):
        with pytest.raises(IndexError):
            HALVES.value(beyond)


@pytest.mark.parametrize(
    ("number", "amount"), [(5, 4), (5.1, 6), (4.9, 4), (1, 0), (-3, 0), (11, 10), (99, 10), (9.5, 10)]
)
def test_the_nearest_amount_is_the_lower_of_two(number: float, amount: float) -> None:
    assert Amounts(0, 10, 2).nearest(number) == amount


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((True, 2), "low must be a number"),
        ((0, "1"), "high must be a number"),
        ((0, 1, float("inf")), "step must be a finite number"),
        ((0, 1, -1), "a step above 0"),
        ((0, 1e-9, 1e-10), "at most 9 decimals"),
        ((0, 10**9), "1000000001 amounts are more than"),
        ((0, 4, 1, (5,)), "5 is not an amount from 0 to 4 in steps of 1"),
    ],
)
def test_amounts_that_cannot_be_are_refused(parts: tuple[Any, ...], words: str) -> None:
    with pytest.raises(GameError, match=words):
        Amounts(*parts)
    assert Amounts(1, 10**9).levels == 10**9 and Amounts(0, 1e-9, 1e-9).levels == 2
