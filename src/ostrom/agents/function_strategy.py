"""Strategies as Python functions from the past to the chance of cooperating."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ostrom.agents.past import Past
from ostrom.agents.strategy import UNBOUNDED, Strategy
from ostrom.ground.errors import StudyError, UsageError
from ostrom.ground.python_files import readable

A_MODEL = 'a function is a model where it is async, takes "messages" or stands under {"model": ...}'


class FunctionStrategy(Strategy):
    """A function from the past to the chance of cooperating."""

    title: ClassVar[str] = "Python function"
    citation: ClassVar[str] = ""
    memory_depth = UNBOUNDED
    function: ClassVar[Callable[[Past], Any]]

    def move(self, past: Past) -> float:
        """Return the function's value; True is 1."""
        chance = type(self).function(past)
        if not isinstance(chance, int | float | np.number | np.bool_):
            raise UsageError(
                f"{self.name}: a function that is a strategy must return the chance of cooperating, or True and False, "
                f"returned {type(chance).__name__}; {A_MODEL}"
            )
        return float(chance)


class AbsentStrategy(Strategy):
    """A placeholder for a strategy whose code is missing: its run can be read but not played."""

    title: ClassVar[str] = "Python code that is not here"
    citation: ClassVar[str] = ""
    memory_depth = UNBOUNDED
    absent = True
    seed = None
    """None, so that its moves are not tried beforehand."""

    def move(self, past: Past) -> float:  # noqa: ARG002
        """Refuse to move."""
        raise StudyError(f"strategy {self.name}: its Python code is not here, which playing on needs")


def from_code(name: str, part: Any) -> Callable[..., Strategy]:
    """Return the factory of a strategy in Python code: a Strategy class itself, else a function."""
    match part:
        case Strategy():
            return lambda: part
        case type() if issubclass(part, Strategy):
            return part
    if not callable(part):
        raise StudyError(f"strategy {readable(name)}: must be a function of the past, or a Strategy")
    return type(
        "FunctionStrategy",
        (FunctionStrategy,),
        {"function": staticmethod(part), "name": readable(name), "__doc__": part.__doc__},
    )


def absent(name: str) -> Callable[..., Strategy]:
    """Return the factory of the placeholder for a strategy whose code is missing."""

    def build(**params: Any) -> Strategy:  # noqa: ARG001
        strategy = AbsentStrategy()
        strategy.name = readable(name)
        return strategy

    return build
