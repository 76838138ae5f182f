"""No reply of any size crashes a reader or makes it do more than linear work.

Work is counted, not timed: the number of Python-level events (lines and calls) for a reply and for one
twice as long. What runs inside single built-in calls is bounded by construction (no regular expression
has nested repetition, Unicode composition sees bounded text only) and covered by the large replies, which
would not end within the test's limit if any of it were quadratic.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from tests.sizes import size

from ostrom.answers import Answer, Invalid, Text, read_choice, read_mixture, read_record, read_text

LABELS = {"C": "A0", "D": "A1"}
SCHEMA = {"type": "object", "properties": {"action": {"type": "string", "enum": ["C", "D"]}}, "required": ["action"]}
PIECES = [
    "[", "]", "[A0", "[A0]", "A0 ", "A0. ", "{", "}", "{}", "{{}", '{"', '{"a":', '{"a":{}', '{"a":[',
    '["', '"{', "[{", '{"{": ', '{"a":"{', '{"a": 1}', '{"A0":100,"A1":0}', '"', "'", "\\", '\\"',
    '{"\\', '{"\\\\', ".", ". ", "? ", "\n", "\r\n", "```\n", ". \n", "e.g. ", "1. ", "not ", "if A0 ",
    "é", "e\u0301", "\u0301\u0323", "\u200b", "😀", "合作。", "<think>", "</think>", "</s>", "-", "1",
    "1e9", "\u2028", " ", "\t[", "if ", "they choose ", '{"a" ', "{a:", "{ ", "\ud800",
]  # fmt: skip
Reader = Callable[[str], Answer | Invalid]
READERS: dict[str, Reader] = {
    "choice": lambda text: read_choice(text, LABELS),
    "mixture": lambda text: read_mixture(text, LABELS),
    "record": lambda text: read_record(text, SCHEMA, LABELS),
    "text": lambda text: read_text(text, Text()),
}


def events(reader: Reader, text: str) -> int:
    """How many lines and calls of Python the reading took."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        reader(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.sample(103)
@pytest.mark.parametrize("piece", PIECES, ids=ascii)
@pytest.mark.parametrize("name", READERS)
def test_twice_the_reply_is_at_most_about_twice_the_work(name: str, piece: str) -> None:
    reader, length = READERS[name], 4000
    once, twice = (events(reader, "so " + piece * (n // len(piece))) for n in (length, 2 * length))
    assert twice <= 2.5 * once + 500


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["choice", "mixture", "text"])
def test_replies_of_megabytes_are_read(name: str) -> None:
    length = size(whole=5_000_000, quick=1_000_000)
    for piece in ("[A0", "{", '{"a":', '"\\', ". ", "\n", "\u0301\u0323", "😀 "):
        found = READERS[name](piece * (length // len(piece)))
        assert isinstance(found, Answer | Invalid)
        if isinstance(found, Invalid):
            assert len(found.reason) < 400


def test_the_answer_is_found_behind_five_megabytes_of_thoughts() -> None:
    thoughts = "I will not choose A1. {maybe [A1]} " * 150_000
    assert read_choice(thoughts + "\n[A0]", LABELS) == Answer("C", "exact")
    mixture = read_mixture(thoughts + '{"A0": 100, "A1": 0}', LABELS)
    assert isinstance(mixture, Answer) and mixture.value == {"C": 100, "D": 0}
