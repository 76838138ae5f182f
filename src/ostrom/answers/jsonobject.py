"""The last JSON object in a reply, found in linear time.

An attempt starts at a brace and follows the grammar of JSON without recursion until the object closes or
breaks. When it breaks, braces that it took for structure are not tried again: objects opened inside it
break at the same place. Braces inside its strings are tried, because a stray quote may have turned the text
inside out. Two attempts that overlap therefore disagree everywhere on what is a string, so no more than two
can overlap: at most two passes.

What opens like an object after the last complete one but breaks (a cut or garbled final answer) is an
error; an earlier draft is not read in its place. The standard library parses what was found, not orjson,
because orjson keeps the last of two equal keys in silence and turns integers beyond 64 bits into floats.
"""

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from ostrom.answers.reading import Invalid, clipped, final_part

DEEPEST = 64
"""The deepest nesting that is read; far above any answer, below any parser's limit."""

_LARGEST = 2**63 - 1
_SPACE = re.compile(r"[ \t\n\r]*")
_IN_STRING = re.compile(r'["\\\x00-\x1f]')
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_OPENING = re.compile(r"\{\s*+(?:[\"'“”‘’`}]|\w++\s*+:)")
"""The beginning of an object, valid or not; braces of prose or mathematics do not match."""


@dataclass(frozen=True, slots=True)
class JsonObject:
    """An object and its place in the text; ``last`` if only markup follows."""

    value: dict[str, Any]
    start: int
    end: int
    last: bool


class _AmbiguousJson(ValueError):
    """Raised for well-formed JSON without a single plain meaning."""


def final_object(text: str, *, strict: bool = False, cut: bool = False) -> JsonObject | Invalid:
    """Return the last JSON object after a reply's thoughts; with ``strict`` only markup may follow."""
    part = final_part(text, cut=cut)
    reading = part if isinstance(part, Invalid) else last_object(part)
    if strict and isinstance(reading, JsonObject) and not reading.last:
        return Invalid("the reply must end with the JSON object")
    return reading


def last_object(text: str) -> JsonObject | Invalid:
    """Return the last complete JSON object of the text, or why there is none.

    >>> last_object('First {"A0": 1}. Then: {"A0": {"x": 2}}').value
    {'A0': {'x': 2}}
    >>> last_object('{"A0": 1} or rather {"A0": 2')
    Invalid(reason='the last JSON object is broken or not closed: \\'{"A0": 2\\'')
    >>> last_object('{"A0": 1, "A0": 2}')
    Invalid(reason="the JSON object has the key 'A0' twice")
    """
    span, broken = _last_span(text)
    if broken is not None:
        return Invalid(f"the last JSON object is broken or not closed: {clipped(text[broken : broken + 240])}")
    if span is None:
        return Invalid("the reply contains no JSON object")
    start, end, depth = span
    if depth > DEEPEST:
        return Invalid(f"the JSON object is nested {depth} deep; at most {DEEPEST} levels are read")
    try:
        value = _parsed(text[start:end])
    except _AmbiguousJson as problem:
        return Invalid(str(problem))
    return JsonObject(value, start, end, last=not re.search(r"\w", text[end:]))


def _last_span(text: str) -> tuple[tuple[int, int, int] | None, int | None]:
    """Return start, end and depth of the last complete object, and the start of a broken one after it."""
    tried = bytearray(len(text))
    span: tuple[int, int, int] | None = None
    broken: int | None = None
    farthest = 0  # how far the broken ones came
    opening = _OPENING.search(text)
    while opening is not None:
        at = opening.start()
        go_on = at + 1
        if not tried[at]:
            complete, end, depth = _attempt(text, at, tried)
            if complete:
                span, go_on = (at, end, depth), end
            elif end >= farthest:
                broken, farthest = at, end
        opening = _OPENING.search(text, go_on)
    return span, broken if span is None or farthest >= span[1] else None


def _attempt(text: str, start: int, attempts: bytearray) -> tuple[bool, int, int]:
    """Follow one object from its brace: return whether it closes, where, and its depth."""
    stack: list[str] = []
    deepest = 0
    at = start
    # value | first (value or close) | key | first key (key or close) | colon | next (comma or close)
    expect = "value"
    while True:
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # matches the empty text too
        char = text[at : at + 1]
        if not char:
            return False, at, deepest
        if expect == "next":
            if char == ",":
                expect = "key" if stack[-1] == "}" else "value"
            elif char != stack.pop():
                return False, at, deepest
            elif not stack:
                return True, at + 1, deepest
            at += 1
        elif expect == "colon":
            if char != ":":
                return False, at, deepest
            at, expect = at + 1, "value"
        elif (expect == "first" and char == "]") or (expect == "first key" and char == "}"):
            expect = "next"  # the close is handled there
        elif char == '"':
            end = _string_end(text, at)
            if end is None:
                return False, at, deepest
            at, expect = end, "colon" if "key" in expect else "next"
        elif "key" in expect:
            return False, at, deepest
        elif char in "{[":
            if char == "{":
                attempts[at] = 1
            stack.append("}" if char == "{" else "]")
            deepest = max(deepest, len(stack))
            at, expect = at + 1, "first key" if char == "{" else "first"
        else:
            scalar = _SCALAR.match(text, at)
            if scalar is None:
                return False, at, deepest
            at, expect = scalar.end(), "next"


def _string_end(text: str, at: int) -> int | None:
    """Return the position after the string that starts here; None if it never closes."""
    at += 1
    while (special := _IN_STRING.search(text, at)) is not None:
        at = special.start()
        if text[at] == '"':
            return at + 1
        escape = _ESCAPE.match(text, at)
        if escape is None:
            return None
        at = escape.end()
    return None


def _parsed(text: str) -> dict[str, Any]:
    value = json.loads(text, object_pairs_hook=_no_twins, parse_int=_parse_integer, parse_float=_finite)
    assert isinstance(value, dict)
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _AmbiguousJson("the JSON object contains half of a surrogate pair, which is no character") from None
    return value


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, item in pairs:
        if key in value:
            raise _AmbiguousJson(f"the JSON object has the key {clipped(key)} twice")
        value[key] = item
    return value


def _parse_integer(digits: str) -> int:
    # Length first: converting a million digits to an integer is not linear.
    if len(digits) > 20 or abs(int(digits)) > _LARGEST:
        raise _AmbiguousJson(f"the number {clipped(digits, 24)} is too large")
    return int(digits)


def _finite(digits: str) -> float:
    if len(digits) > 400 or not math.isfinite(number := float(digits)):
        raise _AmbiguousJson(f"the number {clipped(digits, 24)} is too large or too long")
    return number
