"""Strategies that are functions or classes of a script."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ostrom.agents.function_strategy import absent, from_code
from ostrom.agents.strategies import strategies
from ostrom.ground.errors import OstromError
from ostrom.testing.check_strategy import PRISONERS_DILEMMA, view_of

PD = PRISONERS_DILEMMA


@pytest.mark.parametrize(
    ("value", "chance"), [(True, 1.0), (0, 0.0), (0.25, 0.25), (np.float64(0.5), 0.5), (np.bool_(False), 0.0)]
)
def test_a_function_gives_the_chance_of_cooperating(value: Any, chance: float) -> None:
    strategy = from_code("mine", lambda _: value)()
    assert strategy.name == "mine" and strategy.odds(view_of(PD, [])) == (chance, 1 - chance)


def test_a_strategy_may_be_given_as_a_class_or_as_an_object() -> None:
    grim = strategies.build("grim")
    assert from_code("g", grim)() is grim and from_code("g", type(grim)) is type(grim)


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: from_code("f", lambda _: "C")().odds(view_of(PD, [])), "f: a function that is a strategy must .*str"),
        (lambda: from_code("f", 7), "strategy f: must be a function of the past, or a Strategy"),
        (lambda: absent("f")(p=1).odds(view_of(PD, [])), "strategy f: its Python code is not here"),
    ],
)
def test_code_that_is_no_strategy_is_refused(work: Callable[[], Any], message: str) -> None:
    with pytest.raises((OstromError, ValueError), match=message):
        work()
