"""What prompt files may read of their values, and how much work one rendering may do.

Prompt files read plain data and call listed methods only. Work is counted and never timed.
"""

from collections.abc import Callable, Hashable, ItemsView, Iterable, KeysView, Mapping, Sequence, ValuesView
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, cast

import numpy as np
from jinja2 import StrictUndefined
from jinja2.environment import TemplateModule
from jinja2.exceptions import SecurityError
from jinja2.runtime import LoopContext

from ostrom.framing.payoffs import OwnPayoffs
from ostrom.games.game import Game
from ostrom.games.words import Words

MOST_STEPS = 400_000
"""The most syntax nodes of one rendering (counted in each pass and call), plus visited list entries."""
MOST_TEXT = 4_000_000
"""The most characters that one rendering may write, join, compare or search."""
MOST_INTEGER = 10**18
"""The largest integer that a prompt file may compute."""
_DEEPEST = 40


class RenderWork:
    """The remaining work of one rendering; more raises a SecurityError."""

    __slots__ = ("characters", "depth", "steps")

    def __init__(self) -> None:
        self.steps, self.characters, self.depth = MOST_STEPS, MOST_TEXT, 0

    def spend(self, steps: int, characters: int = 0) -> None:
        """Count syntax nodes and characters; call this before the work is done."""
        self.steps -= steps
        self.characters -= characters
        if self.steps < 0:
            raise SecurityError(f"it takes more than {MOST_STEPS:,} steps (parts of loops, macros and files)")
        if self.characters < 0:
            raise SecurityError(f"it works on more than {MOST_TEXT:,} characters of text")

    def enter(self) -> None:
        """Enter a file or a macro inside another one."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise SecurityError(f"files and macros are nested more than {_DEEPEST} deep")

    def weigh(self, value: Any) -> Any:
        """Return the value after counting everything nested in it: printing and comparing visit it all."""
        waiting = [value]
        while waiting:
            item = waiting.pop()
            if type(item) in _SMALL:
                continue
            if isinstance(item, str):
                self.spend(0, len(item))
            elif isinstance(item, list | tuple | set | frozenset):
                self.spend(len(item))
                waiting += item
            elif isinstance(item, range | np.ndarray):
                self.spend(np.size(item))
            elif isinstance(item, Mapping):
                self.spend(2 * len(item))
                waiting += item.keys()
                waiting += item.values()
            else:
                defined(item)
        return value


_SMALL = (int, bool, float, type(None))
CURRENT: ContextVar[RenderWork | None] = ContextVar("work", default=None)
"""The remaining work of the current rendering; files that are rendered inside of it are counted too."""


def current_work() -> RenderWork:
    """Return the remaining work of the rendering under way; outside of one, a full budget."""
    return CURRENT.get() or RenderWork()


def text_of(value: Any) -> str:
    """Return a value as prompt text; a macro without parentheses is refused."""
    if isinstance(value, str | int | float | StrictUndefined) or value is None:
        text = str(value)  # raises if undefined
    elif isinstance(value, list | tuple | Mapping | range):
        text = str(current_work().weigh(value))
    else:
        raise SecurityError(f"a {type(value).__name__} cannot be written into a prompt")
    current_work().spend(0, len(text))
    return text


def join_texts(values: Iterable[Any], between: str = "") -> str:
    """Join values to one text."""
    texts = [text_of(value) for value in values]
    current_work().spend(len(texts), len(between) * len(texts))
    return between.join(texts)


Number = (int, float, np.number)
_METHODS: tuple[tuple[type, int, frozenset[str]], ...] = (
    (Mapping, 1, frozenset(("get", "items", "keys", "values"))),
    (Game, 10, frozenset(("cooperates", "index", "payoff"))),
    (OwnPayoffs, 200, frozenset(("formula", "matrices", "responses", "rows"))),
    (Words, 10, frozenset(("at",))),
)
"""Types whose methods a prompt file may call, and the cost of a call in steps."""
METHODS = frozenset(name for _, _, names in _METHODS for name in names)
"""The names of all methods that a prompt file may call."""
_FUNCTIONS: set[object] = set()
_LOOP = frozenset("index index0 revindex revindex0 first last length previtem nextitem".split())


def callable_in_templates(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a method as callable from prompt files."""
    _FUNCTIONS.add(function)
    return function


@cache
def _readable(kind: Any) -> frozenset[str]:
    """Return the readable names of a class: its fields and properties."""
    if kind is LoopContext or not is_dataclass(kind):
        return _LOOP if kind is LoopContext else frozenset(getattr(kind, "_fields", ()))
    return frozenset(
        {field.name for field in fields(kind)}
        | {name for name in dir(kind) if isinstance(getattr(kind, name), property)}
    )


def attribute(value: Any, name: str) -> Any:
    """Return an attribute of a value for a prompt file."""
    if name.startswith("_"):
        raise SecurityError(f"{name!r} begins with an underscore and cannot be read in a prompt file")
    if isinstance(value, TemplateModule):
        value = vars(value)
    if isinstance(value, dict | Mapping):
        if name in value:
            return value[name]
    elif name in _readable(cast(Hashable, type(value))) or isinstance(value, StrictUndefined):
        return getattr(value, name)  # raises if undefined
    elif hasattr(value, name):
        raise SecurityError(f"{name!r} of a {type(value).__name__} cannot be used in a prompt file")
    return StrictUndefined(obj=value, name=name)


def entry(value: Any, key: Any) -> Any:
    """Return an entry of a list, mapping, text or array; else the attribute of that name."""
    current_work().weigh(key)
    if isinstance(value, np.ndarray):
        places = key if isinstance(key, tuple) else (key,)
        if not all(isinstance(place, int | np.integer) for place in places):
            raise TypeError("an array takes whole numbers in square brackets")
    if isinstance(value, Mapping | list | tuple | str | range | np.ndarray):
        try:
            return value[key]
        except (TypeError, LookupError):
            pass
    return attribute(value, key) if isinstance(key, str) else StrictUndefined(obj=value, name=key)


def slice_of(value: Any, start: Any, stop: Any) -> Any:
    """Return a slice of a list or a text."""
    return (current_work().weigh(value) if isinstance(value, str) else counted_items(value))[start:stop]


def defined(value: Any) -> Any:
    """Return the value; an undefined one raises an error that names it."""
    if isinstance(value, StrictUndefined):
        str(value)
    return value


def call_method(value: Any, name: str, /, *args: Any, **named: Any) -> Any:
    """Call a method of a value, if it is allowed."""
    for kind, steps, names in _METHODS:
        if isinstance(defined(value), kind) and name in names:
            return _call_listed(getattr(value, name), steps, args, named)
    raise SecurityError(f"{name!r} of a {type(value).__name__} cannot be called in a prompt file")


def call_function(value: Any, /, *args: Any, **named: Any) -> Any:
    """Call a function value, if it is allowed."""
    if getattr(defined(value), "__func__", None) in _FUNCTIONS:
        return _call_listed(value, 10, args, named)
    what = f" ({value!r:.40})" if isinstance(value, str | int | float) else ""
    raise SecurityError(f"a {type(value).__name__}{what} cannot be called in a prompt file")


def _call_listed(function: Any, steps: int, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    work = current_work()
    work.spend(steps)
    work.weigh((*args, *named.values()))
    value = function(*args, **named)
    if isinstance(value, list | tuple):
        work.spend(len(value))
    return value


def items_of(values: Any) -> Sequence[Any]:
    """Return the items of a loop or filter: of a list, or the keys of a mapping."""
    if isinstance(values, list | tuple | range):
        return values
    if isinstance(values, Mapping | KeysView | ValuesView | ItemsView | set | frozenset | np.ndarray):
        current_work().spend(len(values))
        return list(values)
    raise TypeError(f"a list is needed, not a {type(defined(values)).__name__}")


def counted_items(values: Any) -> Sequence[Any]:
    """Return the items of a value; visiting them counts as work."""
    items = items_of(values)
    current_work().spend(len(items))
    return items
