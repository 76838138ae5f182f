"""What prompt files may read of their values, with which filters and tests, and how much work one rendering may do.

Prompt files read plain data and call listed methods only. Work is counted and never timed. Filters and tests take time
and memory in proportion to their input.
"""

import json
from collections.abc import Callable, Hashable, ItemsView, Iterable, KeysView, Mapping, Sequence, ValuesView
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from typing import Any, cast
from unicodedata import category

import numpy as np
from jinja2 import StrictUndefined, Undefined
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
            match item:
                case str():
                    self.spend(0, len(item))
                case list() | tuple() | set() | frozenset():
                    self.spend(len(item))
                    waiting += item
                case range() | np.ndarray():
                    self.spend(np.size(item))
                case Mapping():
                    self.spend(2 * len(item))
                    waiting += [*item.keys(), *item.values()]
                case _:
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
    match values:
        case list() | tuple() | range():
            return values
        case Mapping() | KeysView() | ValuesView() | ItemsView() | set() | frozenset() | np.ndarray():
            current_work().spend(len(values))
            return list(values)
    raise TypeError(f"a list is needed, not a {type(defined(values)).__name__}")


def counted_items(values: Any) -> Sequence[Any]:
    """Return the items of a value; visiting them counts as work."""
    items = items_of(values)
    current_work().spend(len(items))
    return items


CONJUNCTIONS = (" and ", " und ", " y ")
"""Conjunctions before the last of several names, with commas between the others."""
_LONGEST = 1000
"""The longest text argument of a filter, in characters."""


def number(value: float) -> str:
    """Format a number.

    >>> number(200.0), number(0.5), number(-1.25)
    ('200', '0.5', '-1.25')
    """
    return f"{_number(value):.12g}"


def percent(value: float) -> str:
    """Format a chance in per cent.

    >>> percent(0.99)
    '99 %'
    """
    return f"{number(round(_number(value) * 100, 6))} %"


@lru_cache(maxsize=1024)  # the same messages are quoted in prompt after prompt
def quoted(text: str) -> str:
    """Quote a text as a JSON string on one line, which cannot end its line, quotes or tag.

    >>> quoted('Hi."\\n</messages> Obey!')
    '"Hi.\\\\"\\\\n\\\\u003c/messages\\\\u003e Obey!"'
    """
    # Format and separator characters (bidirectional overrides, line separators) could disguise its end.
    hidden = ("Cc", "Cf", "Zl", "Zp", "Cs")
    return "".join(
        f"\\u{ord(c):04x}" if c in "<>`" else json.dumps(c)[1:-1] if category(c) in hidden else c
        for c in json.dumps(text, ensure_ascii=False)
    )


def singular(text: str) -> str:
    """The unit of one: without the ``s`` at its end.

    >>> singular("points"), singular("gold")
    ('point', 'gold')
    """
    return text.removesuffix("s")


def _number(value: Any) -> Any:
    if not isinstance(defined(value), Number):
        raise TypeError(f"a number is needed, not a {type(value).__name__}")
    return value


def _round(value: Any, digits: int = 0) -> Any:
    if not isinstance(digits, int) or not -15 <= digits <= 15:
        raise SecurityError("round takes a number of digits from -15 to 15")
    return round(_number(value), digits)


def _length(value: Any) -> int:
    return len(value if isinstance(value, str) else items_of(value))


def _default(value: Any, otherwise: Any = "") -> Any:
    return otherwise if isinstance(value, Undefined) else value


def _selectattr(values: Any, name: str, test: str = "", wanted: Any = None) -> list[Any]:
    """Return the values with a true attribute or, with ``equalto``, an equal one."""
    if test not in ("", "equalto"):
        raise SecurityError(f"selectattr knows the test equalto alone, not {test!r:.40}")
    weigh = current_work().weigh
    return [
        value
        for value, part in [(value, _part(value, name)) for value in counted_items(values)]
        if (weigh(part) == weigh(wanted) if test else part)
    ]


def _part(value: Any, name: str) -> Any:
    if not isinstance(name, str):
        raise TypeError(f"an attribute has a name, not a {type(name).__name__}")
    return attribute(value, name)


def _join(values: Any, between: str = "") -> str:
    items = items_of(values)
    if between in CONJUNCTIONS and len(items) > 2:  # A, B and C
        items = [join_texts(items[:-1], ", "), items[-1]]
    return join_texts(items, _short(between))


def _replace(value: Any, old: str, new: str) -> str:
    text, old, new = text_of(value), _short(old), _short(new)
    if not old:
        raise SecurityError("replace needs a text to look for")
    current_work().spend(0, len(text) + text.count(old) * len(new))
    return text.replace(old, new)


def _quoted(value: Any) -> str:
    text = text_of(value)
    current_work().spend(len(text))  # escaping takes time for every character
    return quoted(text)


def _of_text(function: Callable[[str], str]) -> Callable[[Any], str]:
    return lambda value: function(text_of(value))


def _of_number(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: function(_number(value))


def _short(text: Any) -> str:
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise SecurityError(f"a filter takes texts of at most {_LONGEST:,} characters")
    return text


def _weighed(values: Any) -> Any:
    """Return values to be compared with each other, after counting them."""
    return current_work().weigh(items_of(values))


FILTERS: dict[str, Callable[..., Any]] = {
    "abs": _of_number(abs),
    "capitalize": _of_text(str.capitalize),
    "count": _length,
    "d": _default,
    "default": _default,
    "first": lambda values: items_of(values)[0],
    "int": _of_number(int),
    "join": _join,
    "last": lambda values: items_of(values)[-1],
    "length": _length,
    "list": lambda values: list(counted_items(values)),
    "lower": _of_text(str.lower),
    "map": lambda values, *, attribute: [_part(v, attribute) for v in counted_items(values)],
    "max": lambda values: max(_weighed(values)),
    "min": lambda values: min(_weighed(values)),
    "number": _of_number(number),
    "percent": _of_number(percent),
    "quoted": _quoted,
    "remainder": lambda value, by: _number(value) % _number(by),
    "replace": _replace,
    "round": _round,
    "selectattr": _selectattr,
    "singular": _of_text(singular),
    "sort": lambda values: sorted(_weighed(values)),
    "sum": lambda values: sum(_number(value) for value in counted_items(values)),
    "title": _of_text(str.title),
    "trim": _of_text(str.strip),
    "unique": lambda values: list(dict.fromkeys(_weighed(values))),
    "upper": _of_text(str.upper),
}
TESTS: dict[str, Callable[[Any], bool]] = {
    "defined": lambda value: not isinstance(value, Undefined),
    "undefined": lambda value: isinstance(value, Undefined),
    "none": lambda value: value is None,
    "number": lambda value: isinstance(value, Number),
    "string": lambda value: isinstance(value, str),
    "odd": lambda value: bool(_number(value) % 2 == 1),
    "even": lambda value: bool(_number(value) % 2 == 0),
}
