"""What a prompt file may read of the values that it is given, and how much work one rendering may do.

It reads plain data and calls listed methods. Work is counted and never timed.
"""

from collections.abc import Callable, Hashable, ItemsView, Iterable, KeysView, Mapping, Sequence, ValuesView
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, cast

import numpy as np
from jinja2 import StrictUndefined
from jinja2.exceptions import SecurityError

from ostrom.framing.payoffs import OwnPayoffs
from ostrom.games.game import Game
from ostrom.games.words import Words

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


def text_of(value: Any, work: RenderWork) -> str:
    """A value as it is written into a prompt; a macro without its brackets is a mistake and no text."""
    if type(value) is str:
        return value
    if isinstance(value, str | int | float | StrictUndefined) or value is None:
        return str(value)  # raises what is undefined
    if isinstance(value, list | tuple | Mapping | range):
        return str(work.weigh(value))
    raise SecurityError(f"a {type(value).__name__} cannot be written into a prompt")


def join_parts(parts: Iterable[str], work: RenderWork, between: str = "") -> str:
    """Texts as one text."""
    texts = parts if isinstance(parts, list) else list(parts)
    work.text(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


Number = (int, float, np.number)
_METHODS: tuple[tuple[type, frozenset[str]], ...] = (
    (Mapping, frozenset(("get", "items", "keys", "values"))),
    (Game, frozenset(("cooperates", "index", "payoff"))),
    (OwnPayoffs, frozenset(("formula", "matrices", "responses", "rows"))),
    (Words, frozenset(("at",))),
)
METHODS = frozenset(name for _, names in _METHODS for name in names)
"""The names of all methods that a prompt file may call."""
_FUNCTIONS: set[object] = set()


def callable_in_templates(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let prompt files call a method that is handed to them."""
    _FUNCTIONS.add(function)
    return function


class Loop:
    """``loop`` inside a loop."""

    __slots__ = ("items", "place")

    def __init__(self, items: Sequence[Any]) -> None:
        self.items: Sequence[Any] = items
        self.place: int = 0

    def near(self, by: int) -> Any:
        """The item before or after the one of this pass."""
        place = self.place + by
        if 0 <= place < len(self.items):
            return self.items[place]
        return StrictUndefined(f"there is no {'previous' if by < 0 else 'next'} item")


_LOOP: dict[str, Callable[[Loop], Any]] = {
    "index": lambda loop: loop.place + 1,
    "index0": lambda loop: loop.place,
    "revindex": lambda loop: len(loop.items) - loop.place,
    "revindex0": lambda loop: len(loop.items) - loop.place - 1,
    "first": lambda loop: loop.place == 0,
    "last": lambda loop: loop.place == len(loop.items) - 1,
    "length": lambda loop: len(loop.items),
    "previtem": lambda loop: loop.near(-1),
    "nextitem": lambda loop: loop.near(1),
}


class Module:
    """What ``import`` makes of a prompt file: its macros and variables."""

    __slots__ = ("values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values


@cache
def _readable(kind: Any) -> frozenset[str]:
    """The names of a class's fields and properties; no others can be read."""
    if not is_dataclass(kind):
        return frozenset(getattr(kind, "_fields", ()))
    properties = {name for name in dir(kind) if isinstance(getattr(kind, name), property)}
    return frozenset({field.name for field in fields(kind)} | properties)


def attribute(value: Any, name: str) -> Any:
    """The part of a value that a prompt file names."""
    if name.startswith("_"):
        raise SecurityError(f"{name!r} begins with an underscore and cannot be read in a prompt file")
    if isinstance(value, Mapping):
        if name in value:
            return value[name]
    elif name in _readable(cast(Hashable, type(value))) or isinstance(value, StrictUndefined):
        return getattr(value, name)  # raises what is undefined
    elif isinstance(value, Loop):
        if name in _LOOP:
            return _LOOP[name](value)
    elif isinstance(value, Module):
        if name in value.values:
            return value.values[name]
    elif hasattr(value, name):
        raise SecurityError(f"{name!r} of a {type(value).__name__} cannot be used in a prompt file")
    return StrictUndefined(obj=value, name=name)


def entry(value: Any, key: Any) -> Any:
    """An entry of a list, mapping, text or array; else the attribute of that name."""
    if isinstance(value, np.ndarray):
        places = key if isinstance(key, tuple) else (key,)
        if not all(isinstance(place, int | np.integer) for place in places):
            raise TypeError("an array takes whole numbers in square brackets")
    if isinstance(value, Mapping | list | tuple | str | range | np.ndarray):
        try:
            return value[key]
        except (TypeError, LookupError):
            pass
    if isinstance(key, str):
        return attribute(value, key)
    return StrictUndefined(obj=value, name=key)


def defined(value: Any) -> Any:
    """The value; what is undefined raises in words that name what is missing."""
    if isinstance(value, StrictUndefined):
        str(value)
    return value


def method(value: Any, name: str) -> Callable[..., Any]:
    """A method of a value, if it is a listed one."""
    for kind, names in _METHODS:
        if isinstance(defined(value), kind) and name in names:
            return getattr(value, name)  # type: ignore[no-any-return]
    raise SecurityError(f"{name!r} of a {type(value).__name__} cannot be called in a prompt file")


def checked_function(value: Any) -> Callable[..., Any]:
    """A value that a prompt file calls by a name of its own, if it may be called."""
    if getattr(defined(value), "__func__", None) in _FUNCTIONS:
        return value  # type: ignore[no-any-return]
    what = f" ({value!r:.40})" if isinstance(value, str | int | float) else ""
    raise SecurityError(f"a {type(value).__name__}{what} cannot be called in a prompt file")


def items_of(values: Any, work: RenderWork) -> Sequence[Any]:
    """What a loop runs over, or a filter takes: the items of a list, the keys of a mapping."""
    if isinstance(values, list | tuple | range):
        return values
    if isinstance(values, Mapping | KeysView | ValuesView | ItemsView | set | frozenset | np.ndarray):
        work.spend(len(values))
        return list(values)
    raise TypeError(f"a list is needed, not a {type(defined(values)).__name__}")
