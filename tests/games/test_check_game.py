"""The conformance check finds the faults it is there for."""

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ostrom.games import Game, build_game
from ostrom.games.tensor import TensorGame, table_of
from ostrom.testing import check_game
from ostrom.testing.check_game import check_plain

PD = table_of(build_game("prisoners_dilemma"))


def build(reward: float = 3) -> TensorGame:
    """A game that takes a ``reward``."""
    payoffs = np.array([[[reward, reward], [0, 5]], [[5, 0], [1, 1]]])
    return TensorGame("mine", (("c", "d"), ("c", "d")), payoffs, (0, 0), citation="own", params={"reward": reward})


def undocumented(reward: float = 3) -> Game:
    """A game."""
    return build(reward)


def forgetful(reward: float = 3) -> Game:
    """A game that takes a ``reward``."""
    return replace(build(reward), params={})


def stubborn(reward: float = 3) -> Game:
    """A game that takes a ``reward``."""
    return replace(build(3), params={"reward": 4 if reward == 3 else 5})


def sourceless(reward: float = 3) -> Game:
    """A game that takes a ``reward``."""
    return replace(build(reward), citation="")


def silent() -> Game:
    return replace(build(), params={})


def test_a_good_factory_and_a_good_game_pass() -> None:
    check_game(build)
    check_game(PD)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (silent, "needs a docstring"),
        (undocumented, "parameter 'reward' is not documented"),
        (forgetful, "parameter 'reward' is not in the game's params"),
        (stubborn, "built again from its own params it differs"),
        (sourceless, "cites where it comes from"),
        (lambda: 3, "returned int, not a Game"),
        (replace(PD, name="my game"), "is not an identifier"),
        (replace(PD, actions=(("c c", "d"),) * 2), "action 'c c' of seat 1 is not an identifier"),
        (replace(PD, roles=("a b", "c")), "role 'a b' is not an identifier"),
        (replace(PD, title=" "), "the title is empty"),
        (replace(PD, cooperative=(1, 1), defective=(0, 0)), "in sum no more than"),
        (replace(PD, defective=(0, 0)), "cooperates and defects with one action"),
        (replace(PD, cooperative=(None, None), defective=(1, 1)), "can defect but not cooperate"),
        (replace(table_of(build_game("trust")), roles=("player", "player")), "not interchangeable"),
        (replace(PD, cooperative=(0, 1), defective=(None, None)), "not the cooperative action"),
    ],
)
def test_faults_are_named(wrong: Any, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_game(wrong)


class Miscounting(TensorGame):
    """Scores something else than its tensor says."""

    def payoff(self, profile: Any) -> tuple[float, ...]:
        return tuple(x + 1 for x in super().payoff(profile))


def test_a_game_that_scores_other_than_its_tensor_is_found() -> None:
    with pytest.raises(AssertionError, match="the tensor says"):
        check_game(Miscounting("g", PD.actions, PD.payoffs))


def test_a_description_that_is_not_transposed_for_seat_two_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from ostrom.games.describe import describe as honest

    def untransposed(game: Game, seat: int) -> Any:
        lines = honest(game, seat)
        if seat == 0:
            return lines
        return tuple(replace(line, payoffs=game.payoff(line.profile[::-1])) for line in lines)

    monkeypatch.setattr(sys.modules["ostrom.testing.check_game"], "describe", untransposed)
    with pytest.raises(AssertionError, match="is told"):
        check_game(build_game("trust"))


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"a": {1, 2}}, "no plain data"), ({"a": float("nan")}, "no plain data"),
        ({"a": (1, 2)}, "survive"), ({1: 2}, "survive"),
    ],
)  # fmt: skip
def test_facts_are_plain_data(facts: Any, says: str) -> None:
    check_plain({"a": [1, "b", None]}, "the facts")
    with pytest.raises(AssertionError, match=f"the facts .*{says}"):
        check_plain(facts, "the facts")
