"""Bounds on what one rendering of a prompt may do and make, counted and never timed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any

import numpy as np
from jinja2 import StrictUndefined
from jinja2.exceptions import SecurityError

MOST_STEPS = 100_000
"""Passes of loops, calls and included files of one rendering; 100 characters that it works on count as one more."""
MOST_TEXT = 4_000_000
"""Characters of a text that a prompt file makes, and of the prompt."""
MOST_WHOLE = 10**18
"""The largest whole number that a prompt file computes."""
_CHARACTERS = 100
_DEEPEST = 40


class RenderWork:
    """What one rendering has left; a prompt file that needs more is stopped with a SecurityError."""

    __slots__ = ("depth", "left")

    def __init__(self) -> None:
        self.left, self.depth = MOST_STEPS, 0

    def spend(self, steps: int) -> None:
        """Count so many steps."""
        self.left -= steps
        if self.left < 0:
            raise SecurityError(
                f"it takes more than {MOST_STEPS:,} steps (passes of loops, calls and included files)"
            )

    def enter(self, steps: int) -> None:
        """Count the beginning of a file or a macro inside another one."""
        self.spend(steps)
        self.depth += 1
        if self.depth > _DEEPEST:
            raise SecurityError(f"files and macros are nested more than {_DEEPEST} deep")

    def text(self, size: int) -> None:
        """Count a text of that many characters; call this before the text is made."""
        if size > MOST_TEXT:
            raise SecurityError(f"it makes a text of more than {MOST_TEXT:,} characters")
        if size >= _CHARACTERS:
            self.spend(size // _CHARACTERS)

    def weigh(self, value: Any) -> Any:
        """The value, after all that is nested in it was counted: printing and comparing visit it all."""
        if type(value) in _SMALL:
            return value
        waiting = [value]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                self.text(len(item))
            elif isinstance(item, Mapping):
                self.spend(2 * len(item))
                waiting += item.keys()
                waiting += item.values()
            elif isinstance(item, list | tuple | set | frozenset):
                self.spend(len(item))
                waiting += item
            elif isinstance(item, range):
                self.spend(len(item))
            elif isinstance(item, np.ndarray):
                self.spend(item.size)
        return value


_SMALL = (int, bool, float, type(None))
CURRENT: ContextVar[RenderWork | None] = ContextVar("work", default=None)
"""The rendering under way: a method that a prompt file calls may render another one, at the cost of the first."""


def shown(value: Any, work: RenderWork) -> str:
    """A value as it is written into a prompt; a macro without its brackets is a mistake and no text."""
    if type(value) is str:
        return value
    if isinstance(value, str | int | float | StrictUndefined) or value is None:
        return str(value)  # raises what is undefined
    if isinstance(value, list | tuple | Mapping | range):
        return str(work.weigh(value))
    raise SecurityError(f"a {type(value).__name__} cannot be written into a prompt")


def joined(parts: Iterable[str], work: RenderWork, between: str = "") -> str:
    """Texts as one text."""
    texts = parts if isinstance(parts, list) else list(parts)
    work.text(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)
