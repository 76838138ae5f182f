"""The only place where prompt templates are compiled: they come from strangers and must not run code.

A template may read the values that it is given, loop, branch, define macros, include other prompt files and apply
the filters in ``ostrom.framing.filters``. Everything else is refused: names that begin with an underscore, methods
that are not listed here, formatting with ``%`` or ``format``, and work or text beyond the bounds in
``ostrom.framing.meter``. Nothing is evaluated when a template is compiled.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import BuiltinMethodType, MethodType
from typing import Any

import numpy as np
from jinja2 import BaseLoader, StrictUndefined, Undefined, pass_context
from jinja2.environment import TemplateModule
from jinja2.exceptions import SecurityError
from jinja2.runtime import BlockReference, Context, LoopContext, Macro, TemplateReference
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ostrom.framing.filters import FILTERS, TESTS, joined, metered, replaced, summed
from ostrom.framing.guard import Guarding
from ostrom.framing.meter import MOST_BITS, Meter
from ostrom.framing.own_payoffs import OwnPayoffs
from ostrom.games.function import FunctionGame
from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame
from ostrom.games.words import Words

_TEXT = frozenset(
    "capitalize casefold count endswith find index isalnum isalpha isdecimal isdigit islower isnumeric isspace istitle"
    " isupper lower lstrip partition removeprefix removesuffix rfind rpartition rsplit rstrip split splitlines"
    " startswith strip swapcase title upper".split()
)
_MAPPING = frozenset(("get", "items", "keys", "values"))
_SEQUENCE = frozenset(("count", "index"))
_LOOP = frozenset(
    "cycle changed depth depth0 first index index0 last length nextitem previtem revindex revindex0".split()
)
_METHODS: set[object] = {
    TensorGame.payoff,
    FunctionGame.payoff,
    Game.cooperates,
    Game.index,
    FunctionGame.index,
    OwnPayoffs.rows,
    OwnPayoffs.responses,
    OwnPayoffs.matrices,
    OwnPayoffs.formula,
    Words.at,
}


def callable_in_templates(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let templates call a method that is handed to them."""
    _METHODS.add(function)
    return function


class Sandbox(ImmutableSandboxedEnvironment):
    """Compiles and fills in templates under the rules above."""

    code_generator_class = Guarding
    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "%", "**"))

    def __init__(self, loader: BaseLoader) -> None:
        super().__init__(
            loader=loader,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
            auto_reload=False,
            autoescape=False,
            optimized=False,  # else constant expressions are computed while a file is compiled, and uncounted
            finalize=self._written,
        )
        self.globals.clear()  # prompts need none of Jinja's helpers, and each filling would copy them
        self.meter = Meter()
        self.filters = {
            **{name: metered(self, name, function) for name, function in FILTERS.items()},
            "join": partial(joined, self),
            "replace": partial(replaced, self),
            "sum": partial(summed, self),
            "_enter": self._enter,
            "_each": self._each,
            "_weigh": self._weigh,
            "_look": self._look,
            "_concat": self._concat,
        }
        self.tests = {name: metered(self, name, function) for name, function in TESTS.items()}

    def fill(self, render: Callable[[], str]) -> str:
        """Fill in a template with a meter of its own."""
        outer, self.meter = self.meter, Meter()
        try:
            return render()
        finally:
            self.meter = outer

    def concat(self, parts: Iterable[str]) -> str:
        """Join what a template wrote."""
        pieces = parts if isinstance(parts, list) else list(parts)
        self.meter.write(sum(map(len, pieces)))
        return "".join(pieces)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """The part of a value that a template names; only plain data and listed methods."""
        if attribute.startswith("_"):
            raise SecurityError(
                f"{attribute!r} begins with an underscore and cannot be read in a prompt file"
            )
        if isinstance(obj, Mapping):
            if attribute in _MAPPING:
                return getattr(obj, attribute)
            return obj[attribute] if attribute in obj else self.undefined(obj=obj, name=attribute)
        if isinstance(obj, str):
            if attribute in _TEXT:
                return getattr(str(obj), attribute)
            if attribute == "replace":
                return _BoundText(partial(replaced, self, obj))
            if attribute == "join":
                return _BoundText(lambda values: joined(self, values, obj))
        elif isinstance(obj, Undefined):
            return getattr(obj, attribute)  # raises what is undefined
        elif isinstance(obj, list | tuple):
            if attribute in _SEQUENCE or attribute in getattr(obj, "_fields", ()):
                return getattr(obj, attribute)
        elif isinstance(obj, LoopContext):
            if attribute in _LOOP:
                return getattr(obj, attribute)
        elif isinstance(obj, TemplateModule):
            if attribute in vars(obj):
                return vars(obj)[attribute]
        elif isinstance(obj, TemplateReference):
            return obj[attribute]
        elif is_dataclass(obj) and not isinstance(obj, type):
            kind = type(obj)
            if any(f.name == attribute for f in fields(obj)):
                return getattr(obj, attribute)
            own = getattr(kind, attribute, None)
            if isinstance(own, property) or own in _METHODS:
                return getattr(obj, attribute)
        if hasattr(obj, attribute):
            raise SecurityError(f"{attribute!r} of a {type(obj).__name__} cannot be used in a prompt file")
        return self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """An entry of a list, mapping, text or array; else the attribute of that name."""
        if isinstance(obj, Mapping | list | tuple | str | np.ndarray):
            if isinstance(argument, tuple):
                self.meter.weigh(argument)  # it is hashed as a whole
            try:
                return obj[argument]
            except (TypeError, LookupError):
                pass
        if isinstance(argument, str):
            return self.getattr(obj, argument)
        return self.undefined(obj=obj, name=argument)

    def is_safe_callable(self, obj: Any) -> bool:
        """Whether a template may call this."""
        if isinstance(obj, Macro | LoopContext | BlockReference | _BoundText | Undefined):
            return True
        if isinstance(obj, MethodType):
            return obj.__func__ in _METHODS or isinstance(obj.__self__, LoopContext | Mapping)
        return isinstance(obj, BuiltinMethodType) and (
            (isinstance(obj.__self__, str) and obj.__name__ in _TEXT)
            or (isinstance(obj.__self__, Mapping) and obj.__name__ in _MAPPING)
            or (isinstance(obj.__self__, list | tuple) and obj.__name__ in _SEQUENCE)
        )

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what may be called, and count it."""
        if not self.is_safe_callable(obj):
            what = f" ({obj!r:.40})" if isinstance(obj, str | int | float) else ""
            raise SecurityError(f"a {type(obj).__name__}{what} cannot be called in a prompt file")
        meter = self.meter
        if isinstance(obj, LoopContext) and args:
            args = (meter.each(args[0], 8), *args[1:])  # its body is not at hand here
        elif isinstance(obj, BuiltinMethodType | _BoundText):
            meter.look_at(getattr(obj, "__self__", ""), *args)
        elif isinstance(obj, MethodType):
            meter.weigh(args)
        found = context.call(obj, *args, **kwargs)
        if isinstance(found, list | tuple):
            meter.spend(len(found))
        return found

    def call_filter(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Apply a filter that a template names in a text, as in ``map("upper")``."""
        if name.startswith("_"):
            raise SecurityError(f"there is no filter {name!r}")
        return super().call_filter(name, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ARG002
        """Compute with numbers, texts and lists, unless the result would be too large."""
        numbers = isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS)
        if not numbers:
            return self._join_or_repeat(operator, left, right)
        if isinstance(left, int) and isinstance(right, int):
            self.meter.spend(1)
            bits = max(left.bit_length(), right.bit_length())
            if operator == "*":
                bits = left.bit_length() + right.bit_length()
            elif operator == "**":
                bits = left.bit_length() * abs(right)
            if bits > MOST_BITS:
                raise SecurityError(f"it computes a number of more than {MOST_BITS:,} bits")
        return self.binop_table[operator](left, right)

    def _join_or_repeat(self, sign: str, left: Any, right: Any) -> Any:
        if sign == "+" and isinstance(left, str) and isinstance(right, str):
            self.meter.write(len(left) + len(right))
            return left + right
        if sign == "+" and type(left) is type(right) and isinstance(left, list | tuple):
            return self.meter.weigh(operator.add(left, right))
        if sign == "*" and isinstance(right, str | list | tuple):
            left, right = right, left
        if sign == "*" and isinstance(left, str | list | tuple) and isinstance(right, int):
            self.meter.write(len(left) * max(right, 0))
            return self.meter.weigh(left * right)
        if sign == "%" and isinstance(left, str):
            raise SecurityError("texts are not formatted with % in a prompt file (join them with ~)")
        for side in (left, right):
            if isinstance(side, Undefined):
                str(side)  # raises what is undefined
        kinds = f"{type(left).__name__} {sign} {type(right).__name__}"
        raise TypeError(f"cannot compute {kinds} in a prompt file")

    def _enter(self, weight: int) -> None:
        self.meter.spend(weight)

    def _each(self, values: Any, weight: int) -> Any:
        return self.meter.each(values, weight)

    def _weigh(self, value: Any) -> Any:
        return self.meter.weigh(value)

    def _look(self, value: Any) -> Any:
        if isinstance(value, str):
            self.meter.look_at(value)
            return value
        return self.meter.weigh(value)

    def _concat(self, *parts: Any) -> str:
        return self.concat([part if type(part) is str else str(self._shown(part)) for part in parts])

    def _shown(self, value: Any) -> Any:
        """A value that can be written into a prompt; a macro without its brackets is a mistake, not a text."""
        if isinstance(value, str | int | float | Undefined) or value is None:
            return value
        if isinstance(value, list | tuple | Mapping | set | frozenset):
            return self.meter.weigh(value)
        if (callable(value) and not isinstance(value, TemplateModule)) or hasattr(value, "__next__"):
            raise SecurityError(f"a {type(value).__name__} cannot be written into a prompt")
        return value

    @staticmethod
    @pass_context
    def _written(context: Context, value: Any) -> Any:
        # A finalizer that takes the context is never applied to constants while a file is compiled.
        if type(value) is str:
            return value
        return context.environment._shown(value)  # type: ignore[attr-defined]


class _BoundText:
    """A text method that is counted."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., str]) -> None:
        self._function = function

    def __call__(self, *args: Any) -> str:
        return self._function(*args)


_NUMBERS = (int, float, np.number)
