"""A game is well formed or refused."""

from __future__ import annotations

import numpy as np
import pytest

from ostrom.games import build_game
from ostrom.games.tensor import TensorGame
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
