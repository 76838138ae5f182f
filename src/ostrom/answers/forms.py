"""The forms of an answer: what is valid.

Records have a schema in a subset of JSON Schema, checked when it is made and applied when a reply is read.

Understood: type (object, array, string, integer, number, boolean), properties, required,
additionalProperties (true or false), items, enum, minimum, maximum, minLength, maxLength, minItems,
maxItems, uniqueItems; title and description are notes. Any other keyword is refused by ``check_schema``: an
ignored rule would be a silent hole.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from ostrom.answers.reading import clipped
from ostrom.games.amounts import Amounts
from ostrom.ground.errors import UsageError

_NOTES = {"type", "title", "description", "enum"}
_KEYWORDS = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems", "uniqueItems"},
    "string": {"minLength", "maxLength"},
    "integer": {"minimum", "maximum"},
    "number": {"minimum", "maximum"},
    "boolean": set[str](),
}
_SIZES = {"minItems", "maxItems", "minLength", "maxLength"}


class Misfit(ValueError):
    """Raised for a value that violates its schema; the message names the path."""


def check_schema(schema: Mapping[str, Any], path: str = "schema") -> None:
    """Refuse a schema with a keyword, or a value of one, that is not supported.

    >>> check_schema({"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}})
    Traceback (most recent call last):
    ostrom.ground.errors.UsageError: schema.a: keyword 'pattern' is not supported for type string
    """
    kind = schema.get("type")
    if kind not in _KEYWORDS:
        raise UsageError(f"{path}: type {kind!r} is not supported (allowed: {', '.join(_KEYWORDS)})")
    if strange := sorted(set(schema) - _NOTES - _KEYWORDS[kind]):
        raise UsageError(f"{path}: keyword {strange[0]!r} is not supported for type {kind}")
    for word in sorted(set(schema) & (_SIZES | {"minimum", "maximum"})):
        bound = schema[word]
        if isinstance(bound, bool) or not isinstance(bound, int if word in _SIZES else int | float):
            raise UsageError(f"{path}: {word} must be a number (found {bound!r})")
    for word in sorted(set(schema) & {"additionalProperties", "uniqueItems"}):
        if not isinstance(schema[word], bool):
            raise UsageError(f"{path}: {word} must be true or false (found {schema[word]!r})")
    if "enum" in schema and (isinstance(schema["enum"], str) or not schema["enum"]):
        raise UsageError(f"{path}: enum must be a list with at least one value")
    _check_children(schema, kind, path)


def check_record_schema(schema: Mapping[str, Any]) -> None:
    """Refuse what ``check_schema`` refuses, and a schema whose type is not object."""
    check_schema(schema)
    if schema["type"] != "object":
        raise UsageError(f"schema: a record is an object (found type {schema['type']!r})")


def _check_children(schema: Mapping[str, Any], kind: str, path: str) -> None:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in properties:
            raise UsageError(f"{path}: required key {name!r} is not among the properties")
    for name, inner in properties.items():
        check_schema(inner, f"{path}.{name}")
    if kind == "array":
        if "items" not in schema:
            raise UsageError(f"{path}: an array needs items")
        check_schema(schema["items"], f"{path}[]")


def fitted(value: Any, schema: Mapping[str, Any], path: str = "") -> Any:
    """Return the value with integers as integers; raises Misfit with place and reason.

    >>> fitted({"n": 3.0}, {"type": "object", "properties": {"n": {"type": "integer"}}})
    {'n': 3}
    """
    value = _of_type(value, schema["type"], path)
    match value:
        case dict():
            value = _fitted_object(value, schema, path)
        case list():
            value = _fitted_array(value, schema, path)
        case str():
            _in_bounds(len(value), schema.get("minLength"), schema.get("maxLength"), path, "must have", "characters")
        case _ if not isinstance(value, bool):
            _in_bounds(value, schema.get("minimum"), schema.get("maximum"), path, "must be")
    if "enum" in schema and not any(_same(value, allowed) for allowed in schema["enum"]):
        listed = ", ".join(json.dumps(allowed, ensure_ascii=False) for allowed in schema["enum"][:12])
        raise Misfit(f"{_at(path)} must be one of {listed}")
    return value


def _of_type(value: Any, kind: str, path: str) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "integer" and number and value == int(value):
        return int(value)
    fits = {
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
        "string": isinstance(value, str),
        "number": number,
        "boolean": isinstance(value, bool),
    }
    if not fits.get(kind, False):
        raise Misfit(f"{_at(path)} must be of type {kind}")
    return value


def _fitted_object(value: dict[str, Any], schema: Mapping[str, Any], path: str) -> dict[str, Any]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            raise Misfit(f"{_at(path)} lacks the key {clipped(name)}")
    if not schema.get("additionalProperties", True):
        for name in value:
            if name not in properties:
                raise Misfit(f"{_at(path)} has the key {clipped(name)}, which is not allowed")
    return {
        name: fitted(item, properties[name], f"{path}.{name}" if path else name) if name in properties else item
        for name, item in value.items()
    }


def _fitted_array(value: list[Any], schema: Mapping[str, Any], path: str) -> list[Any]:
    _in_bounds(len(value), schema.get("minItems"), schema.get("maxItems"), path, "must have", "items")
    items = [fitted(item, schema["items"], f"{path}[{i}]") for i, item in enumerate(value)]
    if schema.get("uniqueItems") and len({json.dumps(item, sort_keys=True) for item in items}) < len(items):
        raise Misfit(f"{_at(path)} must not contain an item twice")
    return items


def _in_bounds(n: float, low: float | None, high: float | None, path: str, verb: str, unit: str = "") -> None:
    for wrong, word, bound in (
        (low is not None and n < low, "at least", low),
        (high is not None and n > high, "at most", high),
    ):
        if wrong:
            raise Misfit(" ".join(f"{_at(path)} {verb} {word} {bound} {unit}".split()) + f", found {n}")


def _same(value: Any, allowed: Any) -> bool:
    """Equality of JSON, where true is not 1."""
    return isinstance(value, bool) == isinstance(allowed, bool) and bool(value == allowed)


def _at(path: str) -> str:
    return clipped(path, 100) if path else "the JSON object"


def relabelled(schema: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """Return the shown schema: option keys in property names and enums become labels.

    >>> relabelled({"type": "string", "enum": ["C", "D", "delegate"]}, {"C": "A0", "D": "A1"})["enum"]
    ['A0', 'A1', 'delegate']
    """
    renamed = dict(schema)
    for word in ("enum", "required"):
        if word in schema:
            renamed[word] = _renamed(schema[word], labels, word)
    if "properties" in schema:
        renamed["properties"] = dict(
            zip(
                _renamed(list(schema["properties"]), labels, "properties"),
                [relabelled(child, labels) for child in schema["properties"].values()],
                strict=True,
            )
        )
    if "items" in schema:
        renamed["items"] = relabelled(schema["items"], labels)
    return renamed


def unlabelled(value: Any, schema: Mapping[str, Any], labels: Mapping[str, str]) -> Any:
    """Convert a value of the shown schema back to option keys."""
    if isinstance(value, dict):
        names = {labels.get(name, name): name for name in schema.get("properties", {})}
        return {
            names.get(name, name): unlabelled(item, schema["properties"][names[name]], labels)
            if name in names
            else item
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [unlabelled(item, schema["items"], labels) for item in value]
    return (
        {labels.get(a, a): a for a in schema["enum"] if isinstance(a, str)}[value]
        if isinstance(value, str) and "enum" in schema
        else value
    )


def _renamed(values: Sequence[Any], labels: Mapping[str, str], word: str) -> list[Any]:
    renamed = [labels.get(value, value) if isinstance(value, str) else value for value in values]
    texts = [text for text in renamed if isinstance(text, str)]
    if len(set(texts)) < len(texts):
        twin = next(text for text in texts if texts.count(text) > 1)
        raise UsageError(
            f"labels: {twin!r} would stand for two things in the {word} of one record; choose other labels"
        )
    return renamed


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the named options."""

    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mixture:
    """Whole percentages over the named options that sum to 100; ``caps`` bound single options."""

    options: tuple[str, ...]
    caps: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """An amount from ``low`` to ``high`` in steps of ``step``; ``few`` are those for mixed strategies.

    >>> Number(0, 1, 0.5).amounts.value(1)
    0.5
    """

    low: float
    high: float
    step: float = 1
    few: tuple[float, ...] = ()

    @property
    def amounts(self) -> Amounts:
        """The amounts themselves."""
        return _amounts(self)


@lru_cache(maxsize=1024)
def _amounts(form: Number) -> Amounts:
    return Amounts(form.low, form.high, form.step, form.few)


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object of a schema (object, properties, bounds); ``name`` selects its wording.

    A schema that asks for more than ``ostrom.answers.forms`` obeys is refused here, before any play.
    """

    name: str
    schema: Mapping[str, Any]
    options: tuple[str, ...] = ()
    """Keys of actions in the schema, which are shown under their labels."""

    def __post_init__(self) -> None:
        check_record_schema(self.schema)


@dataclass(frozen=True, slots=True)
class Text:
    """Free text of at most ``words`` words and ``characters`` characters."""

    words: int = 200
    characters: int = 4000


Form: TypeAlias = Choice | Mixture | Number | Record | Text


TOKENS_PER_WORD = 1.4
"""The tokens per word of English prose."""


def answer_tokens(form: Form) -> int:
    """Return the tokens of a usual answer of this form, without reasons; a high estimate.

    >>> answer_tokens(Choice(("a", "b"))), answer_tokens(Mixture(("a", "b")))
    (8, 28)
    >>> answer_tokens(Record("cap", {"type": "object", "properties": {"cap": {"type": "integer"}}}))
    37
    """
    match form:
        case Choice() | Number():
            return 8
        case Mixture(options=options):
            return 8 + 10 * len(options)
        case Record(schema=schema):
            return 12 + 25 * len(schema.get("properties", {}))
        case Text(words=words):
            return round(TOKENS_PER_WORD * words)
