"""Labels and caps that cannot be are refused, and the last lines of a reply are as many as were asked for."""

from typing import Any

import pytest

from ostrom.answers import Choice, Number, Record, Text
from ostrom.answers.read import checked_caps, labels_of
from ostrom.answers.reading import SENTENCE, last_lines
from ostrom.ground.errors import UsageError

LABELS = {"C": "A0", "D": "A1"}


@pytest.mark.parametrize("caps", [{"E": 50}, {"C": True}, {"C": 50.0}, {"C": -1}, {"C": 101}])
def test_a_cap_is_a_whole_percentage_of_an_option(caps: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"^caps: .* is no cap \(allowed: C, D; whole numbers 0 to 100\)$"):
        checked_caps(LABELS, caps)


def test_caps_leave_a_valid_answer() -> None:
    assert [dict(checked_caps(LABELS, caps)) for caps in (None, {"C": 0}, {"C": 100}, {"C": 40, "D": 60})] == [
        {}, {"C": 0}, {"C": 100}, {"C": 40, "D": 60},
    ]  # fmt: skip
    with pytest.raises(UsageError, match="caps"):
        checked_caps(LABELS, {"C": 40, "D": 59})


def test_labels_are_those_of_the_options_in_their_order() -> None:
    choice = Choice(("D", "C"))
    assert list(labels_of(choice, LABELS).items()) == [("D", "A1"), ("C", "A0")]
    assert labels_of(choice, None) == {"D": "D", "C": "C"}
    with pytest.raises(UsageError, match=r"^labels: option 'D' has none \(labelled: C\)$"):
        labels_of(choice, {"C": "A0"})
    assert labels_of(Text(), LABELS) == labels_of(Number(0, 3), LABELS) == {}
    record = Record("r", {"type": "object", "properties": {"x": {"type": "integer"}}})
    assert labels_of(record, LABELS) == LABELS and labels_of(record, None) == {}


@pytest.mark.parametrize(
    ("text", "count", "lines"),
    [
        ("a\nb\nc", 1, ["c"]),
        ("a\nb\nc", 2, ["c", "b"]),
        ("a\nb\nc", 9, ["c", "b", "a"]),
        ("a\n \n--\nb\n\n", 2, ["b", "a"]),
        ("", 2, []),
        ("x" * (SENTENCE + 5), 1, ["x" * (SENTENCE + 1)]),
    ],
)
def test_the_last_lines_that_say_something(text: str, count: int, lines: list[str]) -> None:
    assert last_lines(text, count, lambda line: any(c.isalnum() for c in line)) == lines
