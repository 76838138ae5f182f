"""YAML and JSON written by users, as plain data; anything else is refused in one line.

Refused are a key given twice (YAML would silently keep the last), dates and other tagged values, numbers that
JSON cannot hold, text that is no Unicode, values that contain themselves, and aliases that unfold a small
file into an endless one.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from typing import Any

import yaml

from ostrom.ground.errors import StudyError

DEEPEST = 60
MOST_VALUES = 2_000_000
MOST_REPEATED = 200_000
"""The most values that aliases may add to those that are written: readers walk through all of them. 100 characters of a
text count as another value."""
LONGEST_KEY = 100
"""Characters of a key that messages show."""

# Exceptions of PyYAML for tags that do not fit their value ("!!int x", "!!bool x", "2001-99-99").
YAML_TROUBLE = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses duplicate keys."""


def _no_duplicates(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        # A list is never shown: with nested aliases its text would be endless.
        key = loader.construct_object(key_node) if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, str | int | float | bool):
            key_text = repr(key_node.value)[:60] if isinstance(key_node, yaml.ScalarNode) else f"a {key_node.id}"
            raise yaml.constructor.ConstructorError(
                None, None, f"a key must be plain text, found {key_text}", key_node.start_mark
            )
        if key in result:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is given twice", key_node.start_mark)
        result[key] = loader.construct_object(value_node, deep=True)
    return result


def _unambiguous_number(loader: Any, node: yaml.ScalarNode) -> int | float:
    """Return a number; YAML 1.1 notations that surprise users are refused (1:30 is 90, 010 is 8)."""
    text = loader.construct_scalar(node)  # refuses a collection, whose own text may be endless
    value: int | float = getattr(loader, f"construct_yaml_{node.tag.rpartition(':')[2]}")(node)
    octal = re.fullmatch(r"[-+]?0[0-7_]+", text) is not None
    if ":" in text or octal:
        raise yaml.constructor.ConstructorError(
            None, None, f"{text} is {value:g} in YAML (base {8 if octal else 60}); write the number, or quote the text",
            node.start_mark,
        )  # fmt: skip
    return value


_COMPILED: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _CompiledLoader(_COMPILED):  # type: ignore[misc]
    """The counterpart of ``_Loader`` in C: ten times as fast, with shorter messages."""


for _loader in (_Loader, _CompiledLoader):
    for _tag, _constructor in {
        "map": _no_duplicates,
        "int": _unambiguous_number,
        "float": _unambiguous_number,
        "set": lambda *_: set(),  # refused by check_plain; PyYAML would first unfold the merge keys in it
    }.items():
        _loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _constructor)  # type: ignore[arg-type]
    # PyYAML takes a mapping with the key "=" for a scalar, and forgets its other keys.
    _loader.construct_scalar = yaml.constructor.BaseConstructor.construct_scalar  # type: ignore[method-assign]


def read_yaml(text: str, file: str | None, *, numbers: bool = True) -> Any:
    """Parse YAML to plain data; errors name the line.

    A text that the compiled loader refuses is read again by the other loader, whose messages say more.

    >>> read_yaml("a: [1, {b: yes}]", "f.yaml")
    {'a': [1, {'b': True}]}
    >>> read_yaml("a: 1\\na: 2", "f.yaml")
    Traceback (most recent call last):
    ostrom.ground.errors.StudyError: f.yaml: line 2, column 1: is not valid YAML: the key 'a' is given twice
    """
    with suppress(*YAML_TROUBLE):  # other errors are raised by the loader itself
        check_depth(text, file, _CompiledLoader)
    try:
        data = yaml.load(text, Loader=_CompiledLoader)
    except YAML_TROUBLE:
        try:
            data = yaml.load(text, Loader=_Loader)
        except YAML_TROUBLE as error:
            raise yaml_problem(error, file) from None
    check_plain(data, file, numbers=numbers)
    return data


def read_json(text: str, file: str, *, line: int | None = None, finite: bool = True) -> Any:
    """Parse JSON without duplicate keys; with ``finite`` NaN and Infinity are refused.

    ``line`` is the number of a line that is a document of its own.

    >>> read_json('{"a": 1, "a": 2}', "f.json")
    Traceback (most recent call last):
    ostrom.ground.errors.StudyError: f.json: a: the key stands twice in one object
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            where = "" if line is None else f"line {line}: "
            raise StudyError("the key stands twice in one object", file=file, key=f"{where}{twice}")
        return content

    def constant(name: str) -> float:
        if finite:
            raise StudyError("not a finite number", file=file, actual=name)
        return float(name)

    at = None if line is None else f"line {line}"
    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise StudyError(f"is not JSON: {error.msg}", file=file, key=at or f"line {error.lineno}") from None
    except ValueError as error:
        raise StudyError(f"is not JSON: {error}", file=file, key=at) from None
    except RecursionError:
        raise StudyError("is nested too deeply", file=file, key=at) from None


def in_words(value: object) -> str:
    """Describe the kind of a value for messages.

    >>> in_words(None), in_words([1]), in_words("x")
    ('nothing', 'a list', 'a text')
    """
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    kinds = ((Mapping, "a mapping"), (list | tuple, "a list"), (str, "a text"), (int | float, "a number"))
    return next((words for kind, words in kinds if isinstance(value, kind)), type(value).__name__)


def yaml_problem(error: BaseException, file: str | None) -> StudyError:
    """Return the error for invalid YAML, in one line with its place."""
    where = None
    match error:
        case RecursionError():
            reason = "nested too deeply"
        case yaml.MarkedYAMLError():
            mark = error.problem_mark or error.context_mark
            where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else None
            reason = str(error.problem or error.context)
        case yaml.YAMLError() | ValueError():
            reason = str(error)
        case _:
            reason = f"a value does not fit its tag ({error})"
    return StudyError(f"is not valid YAML: {reason}", file=file, key=where)


def check_depth(text: str, file: str | None, loader: Any) -> None:
    """Refuse nesting deeper than ``DEEPEST``: the C loader has no limit, and that of the other one is higher."""
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                where = f"line {event.start_mark.line + 1}" if event.start_mark else None
                raise StudyError("is not valid YAML: nested too deeply", file=file, key=where)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def check_plain(data: Any, file: str | None = None, *, numbers: bool = True) -> None:
    """Refuse data that does not round-trip through JSON, or that expands without end.

    Without ``numbers``, numbers are not checked: the reader of the data refuses them with a better message.

    >>> check_plain({"at": [1, "x", None, 0.5]})
    >>> check_plain({"at": [2**64]}, "f.yaml")
    Traceback (most recent call last):
    ostrom.ground.errors.StudyError: f.yaml: at[0]: must be a number of at most 64 bits (found 18446744073709551616)
    """
    _Check(file, numbers).value(data, "", 0)


class _Check:
    """A check of nested data. What several aliases share is checked once, and counted once for each alias."""

    def __init__(self, file: str | None, numbers: bool) -> None:
        self.file, self.numbers = file, numbers
        self.extents: dict[int, tuple[int, int] | None] = {}
        """The number of values and levels of every collection; None while it is being checked."""
        self.written = 0
        """Values, keys and aliases so far, each counted once however much an alias stands for."""
        self.texts = set[int]()
        """The long texts that are counted with their length."""

    def value(self, value: Any, path: str, depth: int) -> tuple[int, int]:
        self.written += 1
        size = 0
        if isinstance(value, str):
            size = len(value) // 100
            if size and id(value) not in self.texts:
                self.texts.add(id(value))
                self.written += size
            try:
                value.encode()
            except UnicodeEncodeError:
                raise StudyError(
                    "contains half of a surrogate pair, which is no character", file=self.file, key=path
                ) from None
        elif isinstance(value, list | tuple | Mapping):
            return self.collection(value, path, depth)
        elif isinstance(value, int | float) and not self.numbers:
            pass
        elif isinstance(value, float) and not isfinite(value):
            raise StudyError("must be a finite number", file=self.file, key=path or None, actual=value)
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise StudyError("must be a number of at most 64 bits", file=self.file, key=path or None, actual=value)
        elif not (value is None or isinstance(value, bool | int | float)):
            raise StudyError(
                "must be text, a number, true, false, null, a list or a mapping "
                f"(found a {type(value).__name__}; put text in quotes)",
                file=self.file, key=path or None,
            )  # fmt: skip
        return 1 + size, 0

    def collection(self, value: Any, path: str, depth: int) -> tuple[int, int]:
        extent = self.extents.get(id(value), (0, 0))
        if extent is None or depth + extent[1] > DEEPEST:
            short = path if len(path) <= 40 else path[:37] + "..."
            raise StudyError("is nested too deeply, or contains itself", file=self.file, key=short or None)
        if extent[0]:
            return extent
        self.extents[id(value)] = None
        total, below = 1, 0
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            size, height = self.value(inner, self.path_of(value, key, path), depth + 1)
            total, below = total + size + (len(key) // 100 if isinstance(key, str) else 0), max(below, height)
            if total > MOST_VALUES or total > self.written + MOST_REPEATED:
                raise StudyError(
                    "unfolds to too many values (aliases, or one object in many places?)",
                    file=self.file, key=path or None, actual=total,
                    allowed=[f"{MOST_VALUES:,}, and {MOST_REPEATED:,} more than are written"],
                )  # fmt: skip
        self.extents[id(value)] = total, below + 1
        return total, below + 1

    def path_of(self, collection: Any, key: Any, path: str) -> str:
        """Return the path of an entry; its key must be plain, too."""
        if not isinstance(collection, Mapping):
            return f"{path}[{key}]"
        if not isinstance(key, str | int | float):
            raise StudyError("a key must be plain text", file=self.file, key=path or None, actual=key)
        self.value(key, path, 0)
        shown = str(key)[:LONGEST_KEY]  # every entry has a path of its own
        return f"{path}.{shown}" if path else shown
