"""Games from a table with parameters: formulas, defaults, presets and rules; and numbers as people write them."""

from inspect import signature
from typing import Any

import numpy as np
import pytest

from ostrom.games.comparison import differences, same_payoffs
from ostrom.games.declared import evaluate, factory_of
from ostrom.games.parameters import number, require, shown, whole_number
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import GameError, ParameterError

AB = ("a", "b")
TOY: dict[str, Any] = {
    "what": "``a``, ``b`` and ``p``",
    "parameters": {"a": None, "b": "a", "p": [1, 2]},
    "presets": {"low": {"a": 2}, "high": {"a": 5}},
    "strict": {"a > 0": "needs a > 0", "a >= b": "needs a >= b"},
    "actions": ["up", "down"],
    "payoffs": {
        "up, up": ["a", "b"],
        "up, down": ["p[0]", "p[1]"],
        "down, up": [0, "-a"],
        "down, down": ["2 * a", "a - 1"],
    },
}


@pytest.mark.parametrize(
    ("args", "given", "up", "down"),
    [
        ((), {}, (2, 2), (4, 1)),
        (("high",), {}, (5, 5), (10, 4)),
        (("high", 7), {"b": 3}, (7, 3), (14, 6)),
        ((), {"b": 2}, (2, 2), (4, 1)),
        ((), {"a": -1, "strict": False}, (-1, -1), (-2, -2)),
    ],
)
def test_a_parameter_is_what_is_given_or_its_preset_or_another_one(
    args: tuple[Any, ...], given: dict[str, Any], up: tuple[float, float], down: tuple[float, float]
) -> None:
    game = factory_of("toy", TOY)(*args, **given)
    assert (game.payoff((0, 0)), game.payoff((1, 1)), game.payoff((0, 1))) == (up, down, (1, 2))
    defaults = {key: p.default for key, p in signature(factory_of("toy", TOY)).parameters.items()}
    assert defaults == {"preset": "low", "a": None, "b": None, "p": (1, 2), "strict": True}


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"a": 0}, "game toy: needs a > 0 (found a=0, b=0, p=[1, 2]); strict=False lifts this rule"),
        ({"b": 2.5}, "game toy: needs a >= b (found a=2, b=2.5, p=[1, 2]); strict=False lifts this rule"),
        ({"preset": "hihg"}, "preset must be low or high, found 'hihg', did you mean 'high'?"),
        ({"p": [1]}, "p must be two numbers, seat 1 and seat 2, found [1]"),
        ({"a": True}, "a must be a finite number or null, found True"),
    ],
)
def test_parameters_that_break_a_rule_are_named(given: dict[str, Any], line: str) -> None:
    with pytest.raises((GameError, ParameterError)) as caught:
        factory_of("toy", TOY)(**given)
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a + b * 2", 7), ("a - b - 1", 0), ("-a", -3), ("p[1]", 9), ("1.5 * a", 4.5),
        ("a > b", True), ("b > b", False), ("b >= b", True), ("a > b > b", False), ("a > b >= b", True),
        ("b < a", True), ("a < a", False), ("a <= a", True), ("b < a < b", False), ("0 < b <= 2 < a", True),
    ],
)  # fmt: skip
def test_formulas_by_hand(text: str, value: Any) -> None:
    assert evaluate(text, {"a": 3, "b": 2, "p": [8, 9]}) == value


@pytest.mark.parametrize("text", ["c", "a / b", "a ** b", "f(a)", "'a'", "not a", "a == b", "a != b", "a < b == 2"])
def test_other_formulas_are_refused(text: str) -> None:
    with pytest.raises(GameError, match="a formula has parameters, numbers"):
        evaluate(text, {"a": 3, "b": 2})


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.0, "0"), (-3.0, "-3"), (0.5, "0.5"), (1e15, "1000000000000000.0"), (1e15 - 1, "9" * 15)],
)
def test_payoffs_as_people_write_them(value: float, text: str) -> None:
    assert shown(value) == text


def test_numbers_of_other_packages_keep_their_bounds() -> None:
    assert [whole_number("g", "n", n, least=2, most=4) for n in (2, 3.0, 4)] == [2, 3, 4]
    for wrong in (1, 5, 2.5, True, "3"):
        with pytest.raises(GameError, match="game g: n must be a whole number from 2 to 4, found"):
            whole_number("g", "n", wrong, least=2, most=4)
    with pytest.raises(GameError, match="game g: win must be a finite number, found inf"):
        number("g", "win", float("inf"))
    with pytest.raises(GameError, match=r"^game g: needs a \(found a=1\)$"):
        require("g", False, "needs a", "a=1", lifted=False)


def test_games_are_compared_payoff_by_payoff_and_in_every_order_of_their_actions() -> None:
    paid = np.arange(8.0).reshape(2, 2, 2)
    one = TensorGame("g", (AB, AB), paid)
    assert differences(one, one) == []
    other = TensorGame("g", (AB, AB), paid + np.eye(2)[:, :, None], params={"a": 1})
    assert differences(one, other) == [
        "params: {} and {'a': 1}",
        "payoffs at (0, 0): (0.0, 1.0) and (1.0, 2.0)",
        "payoffs at (1, 1): (6.0, 7.0) and (7.0, 8.0)",
    ]
    narrow = TensorGame("g", (AB, ("a",)), paid[:, :1])
    assert differences(one, narrow)[-1] == "payoffs: shapes (2, 2, 2) and (2, 1, 2)"
    assert same_payoffs(one, narrow) is None and same_payoffs(one, other) is None
    assert same_payoffs(TensorGame("g", (AB, AB), paid[::-1]), one) == ((1, 0), (0, 1))
    wide = TensorGame("g", (tuple("abcdefg"), ("a",)), np.arange(14.0).reshape(7, 1, 2))
    turned = TensorGame("g", wide.actions, wide.payoffs[::-1])
    assert same_payoffs(wide, wide) == (tuple(range(7)), (0,)) and same_payoffs(wide, turned) is None
