"""What people send: read to the last allowed value, and refused beyond it in words for the person."""

from typing import Any

import pytest
from pydantic import ValidationError

from ostrom.answers import Choice, Invalid, Mixture, Record, Text
from ostrom.people.forms import Read, _integer, read_decision, read_sheet, sheet_fields
from ostrom.people.questions import Bounds, Question, Questionnaire

LABELS = {"a": "A0", "b": "B1"}
TEXT = Text(words=3, characters=10)
MIXTURE = Mixture(("a", "b"), caps={"b": 40})
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pick": {"type": "string", "enum": ["x", "y"]}, "sure": {"type": "boolean"}, "count": {"type": "integer"},
        "share": {"type": "number"}, "deal": {"type": "array", "maxItems": 1, "items": {"type": "integer"}},
    },
    "required": ["pick", "count"], "additionalProperties": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("form", "sent", "value"),
    [
        (Choice(("a", "b")), {"answer": "B1"}, "b"),
        (TEXT, {"answer": " one two 3 "}, "one two 3"),
        (TEXT, {"answer": "a" * 10}, "a" * 10),
        (MIXTURE, {"f0": "60", "f1": "40"}, {"a": 60, "b": 40}),
        (MIXTURE, {"f0": "100", "f1": " 0 "}, {"a": 100, "b": 0}),
        (Record("r", SCHEMA), {"f0": "1", "f2": "-3"}, {"pick": "y", "count": -3, "deal": []}),
        (
            Record("r", SCHEMA),
            {"f0": "0", "f1": "no", "f2": "0", "f3": "0.5", "f4": "7"},
            {"pick": "x", "sure": False, "count": 0, "share": 0.5, "deal": [7]},
        ),
    ],
)
def test_what_fits_is_read(form: Any, sent: dict[str, str], value: Any) -> None:
    assert read_decision(form, LABELS, sent) == Read(value)


@pytest.mark.parametrize(
    ("form", "sent", "says"),
    [
        (Choice(("a", "b")), {"answer": "a"}, "choose one of the options"),
        (Choice(("a", "b")), {}, "choose one of the options"),
        (TEXT, {"answer": "  "}, "write something"),
        (TEXT, {"answer": "a b c d"}, "at most 3 words and 10 characters"),
        (TEXT, {"answer": "a" * 11}, "at most 3 words and 10 characters"),
        (MIXTURE, {"f0": "59", "f1": "41"}, "B1: a whole number from 0 to 40"),
        (MIXTURE, {"f0": "-1", "f1": "40"}, "A0: a whole number from 0 to 100"),
        (MIXTURE, {"f0": "60"}, "B1: a whole number from 0 to 40"),
        (MIXTURE, {"f0": "60", "f1": "39"}, "the numbers must add up to 100 (they add up to 99)"),
        (Record("r", SCHEMA), {"f0": "1"}, "count: an answer is needed"),
        (Record("r", SCHEMA), {"f0": "2", "f2": "1"}, "pick: this is no valid answer"),
        (Record("r", SCHEMA), {"f0": "-1", "f2": "1"}, "pick: this is no valid answer"),
        (Record("r", SCHEMA), {"f0": "1", "f1": "maybe", "f2": "1"}, "sure: this is no valid answer"),
        (Record("r", SCHEMA), {"f0": "1", "f2": "1", "f3": "nan"}, "share: this is no valid answer"),
        (Record("r", SCHEMA), {"f0": "1", "f2": "1.5"}, "count: this is no valid answer"),
    ],
)
def test_what_does_not_fit_is_named(form: Any, sent: dict[str, str], says: str) -> None:
    assert read_decision(form, LABELS, sent) == Invalid(says)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        (" -7 ", -7),
        ("9" * 12, 10**12 - 1),
        ("9" * 13, None),
        ("", None),
        ("-", None),
        ("1.0", None),
        ("\u0663", None),
        ("--1", None),
    ],
)
def test_a_whole_number_is_written_in_plain_digits(text: str, number: int | None) -> None:
    assert _integer(text) == number


SHEET = Questionnaire(
    questions=(
        Question(text="Which?", options=("x", "y"), answer="y"),
        Question(text="How old?", name="age", number=Bounds(low=18, high=99)),
        Question(text="What?", free=5, optional=True),
        Question(text="Said?", name="said", free=5, optional=True, personal=False),
    )
)


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        ({"q1": "1", "age": "18"}, Read({"q1": "y", "age": 18})),
        ({"q1": "0", "age": "99", "q3": "a b c"}, Read({"q1": "x", "age": 99}, (("q3", "a b c"),))),
        ({"q1": "0", "age": "20", "said": "12345"}, Read({"q1": "x", "age": 20, "said": "12345"})),
        ({"q1": "2", "age": "18"}, Invalid("1: this is no valid answer")),
        ({"q1": "-1", "age": "18"}, Invalid("1: this is no valid answer")),
        ({"q1": "1", "age": "17"}, Invalid("2: this is no valid answer")),
        ({"q1": "1", "age": "100"}, Invalid("2: this is no valid answer")),
        ({"q1": "1"}, Invalid("2: an answer is needed")),
        ({"q1": "1", "age": "18", "q3": "123456"}, Invalid("3: this is no valid answer")),
    ],
)
def test_a_sheet_is_read_question_by_question(sent: dict[str, str], found: Any) -> None:
    assert read_sheet(SHEET, sent) == found


def test_fields_of_a_sheet_say_what_is_asked_for() -> None:
    first, age, free, _ = sheet_fields(SHEET, {"q1": [1, 0]})
    assert first.options == (("1", "y"), ("0", "x")) and first.kind == "options" and first.required
    assert (age.kind, age.low, age.high) == ("number", 18, 99)
    assert (free.kind, free.required) == ("text", False)
    assert SHEET.wrong({"q1": "x"}) == ["q1"] and SHEET.wrong({"q1": "y", "age": 3}) == []
    assert SHEET.form("s").schema["required"] == ["q1", "age"]


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ({}, "exactly one of"),
        ({"options": ["a"], "free": 3}, "exactly one of"),
        ({"options": ["a", "a"]}, "differ from each other"),
        ({"options": ["a", ""]}, "differ from each other"),
        ({"options": ["a", "b"], "answer": "c"}, "one of the options .found 'c'"),
        ({"number": {"low": 2, "high": 1}}, "found 2 and 1"),
    ],
)
def test_a_question_has_one_kind_of_answer(question: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Question(text="?", **question)


def test_options_that_yaml_reads_as_other_values_are_texts() -> None:
    made = Question(text="?", options=(True, False, 10), answer=True)
    assert made.options == ("yes", "no", "10") and made.answer == "yes"
    assert Bounds(low=1, high=1).low == 1
    with pytest.raises(ValidationError, match="same name"):
        Questionnaire(questions=(Question(text="?", free=1, name="q2"), Question(text="?", free=1)))
