"""A strategy as a Python function: from the past to the chance of cooperating."""

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
        """What the function says, True for 1."""
        chance = type(self).function(past)
        if not isinstance(chance, int | float | np.number | np.bool_):
            raise UsageError(
                f"{self.name}: a function that is a strategy must return the chance of cooperating, or True and False, "
                f"returned {type(chance).__name__}; {A_MODEL}"
            )
        return float(chance)


class AbsentStrategy(Strategy):
    """Stands in place of a strategy whose code is not here: its run can be read, and not be played."""

    title: ClassVar[str] = "Python code that is not here"
    citation: ClassVar[str] = ""
    memory_depth = UNBOUNDED
    absent = True
    seed = None
    """Its moves are not tried beforehand."""

    def move(self, past: Past) -> float:  # noqa: ARG002
        """Refused."""
        raise StudyError(f"strategy {self.name}: its Python code is not here, which playing on needs")


def from_code(name: str, part: Any) -> Callable[..., Strategy]:
    """The factory of a strategy that Python code defines: a class of strategies as it is, else a function."""
    if isinstance(part, Strategy):
        return lambda: part
    if isinstance(part, type) and issubclass(part, Strategy):
        return part
    if not callable(part):
        raise StudyError(f"strategy {readable(name)}: must be a function of the past, or a Strategy")
    fields = {"function": staticmethod(part), "name": readable(name), "__doc__": part.__doc__}
    return type("FunctionStrategy", (FunctionStrategy,), fields)


def absent(name: str) -> Callable[..., Strategy]:
    """The factory of what stands in place of a strategy whose code is not here, whatever its parameters."""

    def build(**params: Any) -> Strategy:  # noqa: ARG001
        strategy = AbsentStrategy()
        strategy.name = readable(name)
        return strategy

    return build
