"""What stands in place of a part whose package or code is not here: its run can be read, and not be played."""

from collections.abc import Callable
from typing import Any, NoReturn

from ostrom.ground.errors import StudyError
from ostrom.ground.python_files import readable


class AbsentPart:
    """Refuses whatever is asked of it."""

    absent = True

    def __init__(self, title: str) -> None:
        self.title = title

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise StudyError(f"{self.title}: its package or code is not here, which playing on needs")


def from_code(name: str, part: Any) -> Callable[..., Any]:
    """A part of Python code: a function or class that makes one."""
    if not callable(part):
        raise StudyError(f"{readable(name)}: must be a function that makes one")
    factory: Callable[..., Any] = part
    return factory


def absent(name: str) -> Callable[..., Any]:
    """The factory of what stands in place of a part, whatever its parameters."""
    return lambda *_, **__: AbsentPart(readable(name))
