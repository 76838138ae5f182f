"""Allowed parameters of parts, stated by annotations and checked in one place.

A part states its bounds where it names its parameters::

    @checked
    def __init__(self, rate: Share = 0.1, mode: Literal["drop", "decay"] = "decay") -> None: ...

``Registry.build`` checks what a person wrote in a file or on a command line by these annotations; ``checked`` does the
same where Python code makes the part. Nothing is changed on the way: "5" is no number, true is no number either, and
a whole number is fine where a number is due. An annotation that says nothing here (``Any``, a class, none at all)
allows everything. What depends on several parameters is checked by the part itself.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from itertools import chain
from math import isfinite
from numbers import Integral, Real
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from ostrom.ground.errors import ParameterError, nearest, short_repr, unknown_key
from ostrom.ground.values import grouped

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class _Bound:
    bound: float


class Ge(_Bound):
    """A value must be at least ``bound``."""


class Gt(_Bound):
    """A value must be greater than ``bound``."""


class Le(_Bound):
    """A value must be at most ``bound``."""


class Lt(_Bound):
    """A value must be less than ``bound``."""


@dataclass(frozen=True, slots=True)
class Finite:
    """A value must be neither infinite nor NaN."""


@dataclass(frozen=True, slots=True)
class NoFraction:
    """Allows floats without a fraction: 3.0 counts as 3."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few words known only at run time; otherwise use ``Literal``."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Length:
    """A list of a fixed length, and its description."""

    count: int
    words: str


@dataclass(frozen=True, slots=True)
class InWords:
    """A description of what the annotation allows."""

    words: str


Number = Annotated[float, Finite()]
Amount = Annotated[float, Finite(), Ge(0)]
Share = Annotated[float, Ge(0), Le(1)]
PositiveShare = Annotated[float, Gt(0), Le(1)]
Count = Annotated[int, Ge(1)]
"""The bounds of most parameters."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What a parameter may be: a description and a test."""

    words: str
    fits: Callable[[Any], bool]
    names: tuple[str, ...] = ()
    """The allowed names, if names are allowed."""

    def problem(self, name: str, value: Any) -> str:
        """Return one line about an invalid value.

        >>> rule_of(Literal["drop", "decay"]).problem("mode", "dorp")
        "mode must be drop or decay, found 'dorp', did you mean 'drop'?"
        """
        near = nearest(value, self.names) if isinstance(value, str) else None
        hint = f", did you mean {near!r}?" if near else ""
        return f"{name} must be {self.words}, found {short_repr(value)}{hint}"


def rule_of(annotation: Any) -> Rule | None:
    """Return the rule of an annotation; None if it has none.

    >>> rule_of(Annotated[int, Ge(1), Le(20)]).words, rule_of(PositiveShare | None).words
    ('a whole number from 1 to 20', 'a number above 0 and at most 1 or null')
    >>> rule_of(Share).fits(True), rule_of(Share).fits(1), rule_of(int).fits(3.0), rule_of(int).fits("5")
    (False, True, False, False)
    """
    if annotation in (None, NoneType):
        return Rule("null", lambda value: value is None)
    if annotation is bool:
        return Rule("true or false", lambda value: isinstance(value, bool))
    if annotation is str:
        return Rule("a text", lambda value: isinstance(value, str))
    if annotation in (int, float):
        return _number(annotation, ())
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return _one_of(arguments)
    if origin is Annotated:
        return _marked(*arguments)
    return _either([rule_of(argument) for argument in arguments]) if origin in (Union, UnionType) else None


def _marked(kind: Any, *marks: Any) -> Rule | None:
    """Return the rule of an annotated type; marks of other libraries are ignored."""
    if kind in (int, float):
        return _number(kind, marks)
    for mark in marks:
        if isinstance(mark, OneOf):
            return _one_of(mark.words)
        entry = rule_of(get_args(kind)[0]) if isinstance(mark, Length) else None
        if entry is not None:
            return _list(mark, entry)
    rule = rule_of(kind)
    words = [mark.words for mark in marks if isinstance(mark, InWords)]
    return replace(rule, words=words[0]) if rule is not None and words else rule


def _one_of(words: Sequence[Any]) -> Rule:
    text = " or ".join(map(str, words)) if len(words) < 3 else f"one of {', '.join(map(str, words))}"
    return Rule(
        text,
        lambda value: any(type(value) is type(word) and value == word for word in words),
        tuple(word for word in words if isinstance(word, str)),
    )


def _list(length: Length, entry: Rule) -> Rule:
    def fits(value: Any) -> bool:
        listed = isinstance(value, Sequence) and not isinstance(value, str) and len(value) == length.count
        return listed and all(map(entry.fits, value))

    return Rule(length.words, fits)


def _either(rules: Sequence[Rule | None]) -> Rule | None:
    """Return the rule of a union; a member without a rule allows everything."""
    present = [rule for rule in rules if rule is not None]
    if len(present) < len(rules):
        return None
    return Rule(
        " or ".join(rule.words for rule in present),
        lambda value: any(rule.fits(value) for rule in present),
        tuple(name for rule in present for name in rule.names),
    )


def _number(kind: type, marks: Sequence[Any]) -> Rule:
    integral = kind is int or NoFraction() in marks
    bounds = {type(mark): mark.bound for mark in marks if isinstance(mark, _Bound)}
    finite = Finite() in marks

    plain, wide = ((int,), Integral) if kind is int else ((int, float), Real)

    def is_number(value: Any) -> bool:
        # The type first: isinstance takes ten times as long, and agents are made for every match.
        return type(value) in plain or (isinstance(value, wide) and not isinstance(value, bool))

    def fits(value: Any) -> bool:
        if not is_number(value):
            return False
        if kind is float and (finite or integral) and not is_finite(value):
            return False
        return (
            (not integral or value == int(value))
            and not (Ge in bounds and not value >= bounds[Ge])
            and not (Gt in bounds and not value > bounds[Gt])
            and not (Le in bounds and not value <= bounds[Le])
            and not (Lt in bounds and not value < bounds[Lt])
        )

    noun = "a whole number" if integral else "a finite number" if finite and not bounds else "a number"
    return Rule(" ".join([noun, *_range(bounds)]), fits)


def is_finite(value: Any) -> bool:
    """Return whether a number is finite and a float can hold it."""
    try:
        return isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


def _range(bounds: Mapping[type, float]) -> list[str]:
    """Describe bounds in words."""
    if Ge in bounds and Le in bounds:
        return [f"from {bounds[Ge]} to {bounds[Le]}"]
    alone = {Ge: "of at least", Gt: "above", Le: "of at most", Lt: "below"}
    second = {**alone, Le: "at most"}
    words = [f"{alone[kind]} {bounds[kind]}" for kind in (Ge, Gt) if kind in bounds]
    words += [f"{(second if words else alone)[kind]} {bounds[kind]}" for kind in (Le, Lt) if kind in bounds]
    return [" and ".join(words)] if words else []


@lru_cache(maxsize=1024)
def rules_of(factory: Callable[..., Any]) -> Mapping[str, Rule]:
    """Return the rules of a function's or class's parameters by name; those without a rule are left out."""
    names = getattr(inspect.unwrap(_maker(factory)), "__globals__", {})
    rules = {
        parameter.name: rule_of(_resolved(parameter.annotation, names))
        for parameter in inspect.signature(factory).parameters.values()
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    }
    return {name: rule for name, rule in rules.items() if rule is not None}


def _maker(factory: Any) -> Any:
    """Return the function that takes the parameters."""
    kind: Any = factory
    return kind.__init__ if isinstance(factory, type) else kind


@lru_cache(maxsize=1024)
def is_checked(factory: Callable[..., Any]) -> bool:
    """Return whether a part checks its own parameters by ``checked``."""
    return "checks" in getattr(_maker(factory), "__dict__", {})


def _resolved(annotation: Any, names: dict[str, Any]) -> Any:
    """Return an annotation as an object; Any if it only exists for the type checker."""
    try:
        return get_type_hints(SimpleNamespace(__annotations__={"it": annotation}), names, include_extras=True)["it"]
    except (NameError, AttributeError, TypeError, SyntaxError):
        return Any


def check(factory: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Refuse arguments of a part that its annotations do not allow."""
    rules = rules_of(factory)
    for name, value in arguments.items():
        rule = rules.get(name)
        fits = rule is None or rule.fits(value)
        if rule is not None and not fits and value is not inspect.signature(factory).parameters[name].default:
            raise ParameterError(rule.problem(name, value))


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Check the arguments of a function or ``__init__`` at every call.

    >>> @checked
    ... def window(k: Annotated[int, Ge(0)]) -> int:
    ...     return k
    >>> window(-1)
    Traceback (most recent call last):
    ostrom.ground.errors.ParameterError: k must be a whole number of at least 0, found -1
    """
    places = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]

    alone = int(places[:1] == ["self"])

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if kwargs or len(args) > alone:  # defaults need no check, and most agents are made with them
            check(function, dict(chain(zip(places, args, strict=False), kwargs.items())))
        return function(*args, **kwargs)

    call.__dict__["checks"] = True
    return call


def options_of(kind: Callable[..., T], options: Any, key: str = "", *, first: str | None = None) -> T:
    """Build the object that a mapping in a study states; unknown keys and wrong values are refused.

    ``key`` is where the mapping stands, and ``first`` the key that a text alone stands for.

    >>> @dataclass
    ... class Talk:
    ...     when: Literal["before", "after"] = "before"
    ...     length: Annotated[int, Ge(1)] = 280
    >>> options_of(Talk, "after", "talk", first="when")
    Talk(when='after', length=280)
    >>> options_of(Talk, {"lenght": 3}, "talk")
    Traceback (most recent call last):
    ostrom.ground.errors.ParameterError: unknown key 'lenght' of talk, did you mean 'length'? (allowed: when, length)
    """
    if first is not None and isinstance(options, str):
        options = {first: options}
    parameters = inspect.signature(kind).parameters
    allowed = f"(allowed: {', '.join(parameters)})"
    if not isinstance(options, Mapping):
        raise ParameterError(f"{key} must be a mapping, found {short_repr(options)} {allowed}".strip())
    for name in options:
        if name not in parameters:
            raise ParameterError(f"{unknown_key(str(name), parameters, key)} {allowed}")
    for name, parameter in parameters.items():
        if name not in options and parameter.default is parameter.empty:
            raise ParameterError(f"{key} needs {name!r}, found {short_repr(dict(options))} {allowed}".strip())
    for name, rule in rules_of(kind).items():
        if name in options and not rule.fits(options[name]):
            raise ParameterError(rule.problem(f"{key}.{name}" if key else name, options[name]))
    return kind(**options)


def bounds_in_words(factory: Callable[..., Any]) -> str:
    """Describe the allowed parameters of a part, equal ones together.

    >>> def part(low: Number, high: Number, strict: bool = True) -> None: ...
    >>> bounds_in_words(part)
    'low, high: a finite number; strict: true or false'
    """
    return "; ".join(
        f"{', '.join(names)}: {words}"
        for words, names in grouped((rule.words, name) for name, rule in rules_of(factory).items()).items()
    )
