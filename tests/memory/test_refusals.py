"""Memories with parameters or functions that make no sense are refused in one line."""

from typing import Any

import pytest

from ostrom.games import build_game
from ostrom.ground.errors import OstromError, UsageError
from ostrom.memory import memories
from ostrom.memory.base import no_cooperation
from ostrom.memory.catalog.sanitized import _by_game
from ostrom.memory.function import FunctionMemory
from ostrom.testing.check_memory import draws, play_rounds, view_after

PD = build_game("prisoners_dilemma")
SHARES = {"cooperate, cooperate": 1}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"real": 3, "window": 2}, "real must be at most 2, the window, found 3"),
        ({"shares": SHARES}, "shares are for mode: polar; ideal rounds are always mutual cooperation"),
        ({"mode": "polar", "shares": {}}, "shares must map combinations of actions to shares, found"),
        ({"mode": "polar", "shares": {"a, b": 0}}, "shares must not all be 0"),
        ({"mode": "polar", "shares": {"a, b": True}}, "shares of 'a, b' must be a number of at least 0, found True"),
        ({"mode": "polar", "shares": {"a, b": -0.1}}, "must be a number of at least 0, found -0.1"),
        ({"mode": "polar", "shares": {"a, b": float("inf")}}, "must be a number of at least 0, found inf"),
        ({"mode": "polar", "shares": {"a, b": "1"}}, "must be a number of at least 0, found '1'"),
    ],
)  # fmt: skip
def test_shares_and_windows_that_cannot_be(spec: dict[str, Any], says: str) -> None:
    with pytest.raises(OstromError, match=says):
        memories.build({"name": "sanitized", **spec})


def test_shares_are_of_all_games_or_of_named_ones() -> None:
    assert _by_game({"a ,b": 2, "b,a": 0}) == {"": {"a, b": 2.0, "b, a": 0.0}}
    assert _by_game({"chicken": {"a, b": 1}, "stag_hunt": {"b, a": 3}}) == {
        "chicken": {"a, b": 1.0}, "stag_hunt": {"b, a": 3.0},
    }  # fmt: skip
    memories.build({"name": "sanitized", "real": 2, "window": 2})


def _shown(function: Any, **params: Any) -> Any:
    view = view_after(PD, play_rounds(PD, [(0, 0), (0, 1), (1, 1)]), 0)
    return FunctionMemory(function, "mine", params).show(view, draws(0))


def test_a_function_shows_rounds_in_their_order_or_a_text() -> None:
    assert [r.number for r in _shown(lambda rounds, k: rounds[-k:], k=2).rounds] == [2, 3]
    assert _shown(lambda rounds: rounds[::2]).gaps and _shown(lambda rounds: "so").note == "so"
    assert _shown(lambda view: f"{view.round}").note == "4" and _shown(lambda rounds: []).rounds == []
    assert _shown(lambda rounds, rng: str(0 <= rng.random() < 1)).note == "True"


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda rounds: rounds[::-1], r"in their order, or a text \(returned list\)"),
        (lambda rounds: [rounds[0], rounds[0]], "must return some of the rounds that it is given"),
        (lambda rounds: [1], "must return some of the rounds"),
        (lambda rounds: None, r"\(returned NoneType\)"),
        (lambda rounds: 1 / 0, "^memory mine: ZeroDivisionError: division by zero$"),
    ],
)
def test_a_function_that_returns_something_else_is_refused(function: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        _shown(function)


def test_memories_of_cooperation_need_a_cooperative_action_of_every_seat() -> None:
    assert no_cooperation(PD) is None
    told = no_cooperation(build_game("ultimatum"))
    assert told == "game ultimatum does not define a cooperative action for every seat"
