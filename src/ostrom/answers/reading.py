"""Results of parsing (an answer, or the reason for none), and the end of a reply.

The end is what follows its thoughts, its last lines, its last sentence, its last JSON object. Finding it is linear in
the reply.

For a JSON object, an attempt starts at a brace and follows the grammar of JSON without recursion until the object
closes or breaks. When it breaks, braces that it took for structure are not tried again: objects opened inside it break
at the same place. Braces inside its strings are tried, because a stray quote may have turned the text
inside out. Two attempts that overlap therefore disagree everywhere on what is a string, so no more than two
can overlap: at most two passes.

What opens like an object after the last complete one but breaks (a cut or garbled final answer) is an
error; an earlier draft is not read in its place. The standard library parses what was found, not orjson,
because orjson keeps the last of two equal keys in silence and turns integers beyond 64 bits into floats.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ostrom.ground.values import value

Reading = Literal[
    "exact",
    "loose",
    "constrained",
    "logprob",
    "scripted",
    "person",
    "policy",
    "refused",
    "imported",
    "assigned",
    "missed",
]


@value
class Answer:
    """A valid answer. ``value`` is plain data (an option's key, a mapping, a text).

    ``probabilities`` are there when the answer was drawn from a distribution that is known: a stated mixed
    strategy, log-probabilities of the options, or a stochastic strategy that tells its odds.
    ``note`` says what befell the answer (for example which policy replaced an invalid one).
    A decision that nobody answered in time has the reading ``missed`` and no value: the mechanism decides what
    that means, and no agent ever puts an action in its place.
    """

    value: Any
    reading: Reading = "scripted"
    probabilities: Mapping[str, float] | None = None
    note: str | None = None
    facts: Mapping[str, Any] | None = None
    """Facts about the question, such as which label stood for which option."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """No answer: ``reason`` is short, lower case, and shown to the model when it is asked again."""

    reason: str


INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\x00"
BLANK = "".join(chr(c) for c in range(0x3001) if chr(c).isspace()) + INVISIBLE
TURN_ENDS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end|>", "<end_of_turn>", "<eos>", "</s>")
"""End-of-turn marks that some servers leave in the text."""

SENTENCE = 2000
"""The longest sentence in characters, which bounds the work on it."""

_BREAKS = ("\r\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029")
_STOPS = ".!?…。！？؟"
_WIDE_STOPS = "。！？"
_CLOSERS = "\"'”’)]}*_`»」』】］）>"
_ABBREVIATIONS = ("e.g", "i.e", "vs", "cf", "approx")
_NUMBERED = re.compile(r"[0-9]{1,3}\Z")


def final_part(text: str, *, cut: bool = False) -> str | Invalid:
    """Return the reply after its thoughts, or why it is empty.

    >>> final_part("<think>[A1]?</think> [A0]</s>")
    '[A0]'
    >>> final_part("<think>they may")
    Invalid(reason='the reply ends inside its reasoning')
    """
    if cut:
        return Invalid("the reply was cut off before its end")
    if not text.isprintable():
        for pause in _BREAKS:
            text = text.replace(pause, "\n")
    close = text.rfind("</think>")
    if text.rfind("<think>") > close:
        return Invalid("the reply ends inside its reasoning")
    text = (text[close + len("</think>") :] if close >= 0 else text).strip(BLANK)
    # At most a few marks in a row are removed: each removal copies the text.
    for _ in range(4):
        if not text.endswith(TURN_ENDS):
            break
        for mark in TURN_ENDS:
            text = text.removesuffix(mark)
        text = text.rstrip(BLANK)
    return text or Invalid("the reply is empty")


def last_lines(text: str, count: int, speaks: Callable[[str], bool]) -> list[str]:
    """Return the last non-empty lines, last one first; a line beyond ``SENTENCE`` keeps its tail.

    >>> last_lines("I think\\n[A0]\\n```\\n", 2, lambda line: any(c.isalnum() for c in line))
    ['[A0]', 'I think']
    """
    lines: list[str] = []
    end = len(text)
    while end > 0 and len(lines) < count:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end].strip(BLANK)
        end = start - 1
        # One character more than allowed, so that overlong ones are recognised.
        if line and speaks(line):
            lines.append(line[-SENTENCE - 1 :])
    return lines


def last_sentence(line: str, speaks: Callable[[str], bool]) -> str:
    """Return the last sentence of a line. A stop ends a sentence if white space follows it.

    >>> last_sentence("I will not choose A1. [A0]", bool)
    '[A0]'
    >>> last_sentence("1. Given e.g. A1 I say v1.5!", bool)
    '1. Given e.g. A1 I say v1.5!'
    """
    for i in range(len(line) - 1, 0, -1):
        if line[i].isspace():
            head = line[:i].rstrip(_CLOSERS)
            ends = head != "" and head[-1] in _STOPS and not _is_no_end(head)
        else:
            ends = line[i - 1] in _WIDE_STOPS
        if ends and speaks(line[i:]):
            return line[i:].strip()
    return line


def _is_no_end(head: str) -> bool:
    """Return whether the stop after ``head`` belongs to an abbreviation or a list number."""
    if head[-1] != ".":
        return False
    before = head[:-1]
    return bool(_NUMBERED.match(before)) or before.lower().rsplit(None, 1)[-1:] in [[a] for a in _ABBREVIATIONS]


def clipped(text: str, most: int = 60) -> str:
    """Return a short quotation for a message, on one line."""
    line = " ".join(text[: most * 4].split())
    return repr(line if len(line) <= most else line[: most - 3] + "...")


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


def final_object(text: str, *, strict: bool, cut: bool) -> JsonObject | Invalid:
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
