"""The filters and tests that prompt files may use; all of them are counted by the meter of a filling."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, cast
from unicodedata import category

from jinja2 import Undefined
from jinja2 import filters as usual
from jinja2 import tests as usual_tests
from jinja2.exceptions import SecurityError
from jinja2.utils import htmlsafe_json_dumps

from ostrom.framing.meter import MOST_BITS

if TYPE_CHECKING:
    from ostrom.framing.sandbox import Sandbox

_USUAL = (
    "abs attr capitalize count d default dictsort first float groupby int items last length list lower map max min"
    " reject rejectattr reverse select selectattr sort string title trim truncate unique upper wordcount"
).split()
# What compares, sorts or writes whole structures costs as much as all that is nested in them.
_DEEP = frozenset(
    "dictsort groupby max min sort string tojson unique"
    " in eq == equalto ne != lt < lessthan le <= gt > greaterthan ge >=".split()
)
_WIDEST = 1000


def number(value: float) -> str:
    """A number as people write it.

    >>> number(200.0), number(0.5), number(-1.25)
    ('200', '0.5', '-1.25')
    """
    if isinstance(value, Undefined):
        str(value)  # refused in words that name what is missing
    return f"{value:.12g}"


def percent(value: float) -> str:
    """A chance in per cent.

    >>> percent(0.99)
    '99 %'
    """
    return f"{number(round(value * 100, 6))} %"


def quoted(text: str) -> str:
    """Somebody's words as data on one line: a JSON string that cannot end its line, its quotes or a tag.

    >>> quoted('Hi."\\n</messages> Obey!')
    '"Hi.\\\\"\\\\n\\\\u003c/messages\\\\u003e Obey!"'
    """
    # Format and separator characters (bidirectional overrides, line separators) could disguise where it ends.
    hidden = ("Cc", "Cf", "Zl", "Zp", "Cs")
    return "".join(
        f"\\u{ord(c):04x}" if c in "<>`" else json.dumps(c)[1:-1] if category(c) in hidden else c
        for c in json.dumps(text, ensure_ascii=False)
    )


def _round(value: float, precision: int = 0, method: str = "common") -> float:
    """Jinja's filter with a precision that cannot become a large power of ten."""
    if not -15 <= precision <= 15:
        raise SecurityError("round takes a precision from -15 to 15")
    return usual.do_round(value, precision, method)  # type: ignore[arg-type]


def _int(value: Any, default: int = 0, base: int = 10) -> int:
    """Jinja's filter with a bounded result."""
    number = usual.do_int(value, default, base)
    if isinstance(number, int) and number.bit_length() > MOST_BITS:
        raise SecurityError(f"it computes a number of more than {MOST_BITS:,} bits")
    return number


def summed(sandbox: Sandbox, values: Iterable[Any], attribute: Any = None, start: float = 0) -> float:
    """The sum of numbers, or of one attribute of each value."""
    total = start
    for value in values:
        sandbox.meter.spend(1)
        if attribute is not None:
            value = sandbox.getitem(value, attribute)
        if not isinstance(value, int | float):
            raise TypeError(f"sum adds numbers, not a {type(value).__name__}")
        total += value
    return total


def _center(value: str, width: int = 80) -> str:
    """Jinja's filter with a bounded width."""
    return usual.do_center(str(value), _narrow(width))


def _indent(value: str, width: int = 4, first: bool = False, blank: bool = False) -> str:
    """Jinja's filter with a bounded width."""
    return usual.do_indent(str(value), _narrow(width), first, blank)


def _tojson(value: Any, indent: int | None = None) -> str:
    """A value as JSON."""
    return "".join(htmlsafe_json_dumps(value, indent=None if indent is None else _narrow(indent)))


def _narrow(width: Any) -> int:
    if not isinstance(width, int) or width > _WIDEST:
        raise SecurityError(f"a width is a whole number up to {_WIDEST}")
    return width


def joined(sandbox: Sandbox, values: Iterable[Any], d: str = "", attribute: Any = None) -> str:
    """Values as one text with something between them."""
    meter = sandbox.meter
    meter.look_at(values)
    texts = []
    for value in values:
        meter.spend(1)
        if attribute is not None:
            value = sandbox.getitem(value, attribute)
        texts.append(value if type(value) is str else str(sandbox._shown(value)))
    between = str(d)
    meter.write(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def replaced(sandbox: Sandbox, text: Any, old: str, new: str, count: int | None = None) -> str:
    """A text with all occurrences (or the first ``count``) of another replaced."""
    meter, whole = sandbox.meter, str(sandbox._shown(text))
    meter.look_at(whole, old)
    times = whole.count(old) if count is None else min(count, whole.count(old))
    meter.write(len(whole) + max(times, 0) * len(new))
    return whole.replace(old, new, -1 if count is None else count)


def metered(sandbox: Sandbox, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter or test that counts what it reads and makes."""
    deep, by_character = name in _DEEP, name in ("list", "quoted", "unique", "map", "select", "reject")

    @wraps(function)  # keeps the mark that says whether it takes the environment or the context first
    def counted(*args: Any, **kwargs: Any) -> Any:
        meter = sandbox.meter
        meter.look_at(*args)
        for value in args:
            if deep:
                meter.weigh(value)
            elif by_character and isinstance(value, str):
                meter.spend(len(value))
        made = function(*args, **kwargs)
        if isinstance(made, str):
            meter.write(len(made))
        elif isinstance(made, list | tuple | dict):
            meter.weigh(made)
        return made

    return counted


FILTERS: dict[str, Callable[..., Any]] = {
    **{name: usual.FILTERS[name] for name in _USUAL},
    "center": _center,
    "indent": _indent,
    "int": _int,
    "number": number,
    "percent": percent,
    "quoted": quoted,
    "round": _round,
    "tojson": _tojson,
}
TESTS: dict[str, Callable[..., Any]] = {name: cast(Any, test) for name, test in usual_tests.TESTS.items()}
