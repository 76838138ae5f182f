"""Words in messages that count and list."""

from typing import Any

import pytest

from ostrom.ground.words import how_many, join_words, scalar


@pytest.mark.parametrize(
    ("noun", "many"),
    [("person", "people"), ("match", "matches"), ("batch", "batches"), ("model", "models"), ("retry", "retries")],
)
def test_one_is_not_several(noun: str, many: str) -> None:
    assert how_many(1, noun) == f"1 {noun}"
    assert how_many(0, noun) == f"0 {many}" and how_many(1500, noun) == f"1,500 {many}"


def test_names_in_a_sentence() -> None:
    assert [join_words("abc"[:n]) for n in range(4)] == ["nothing", "a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("TRUE", True), ("False", False), ("None", None), ("null", None), ("-3", -3), ("1e3", 1000.0), ("3x", "3x")],
)
def test_a_word_on_a_command_line_is_read_as_what_it_is(text: str, value: Any) -> None:
    assert scalar(text) == value and type(scalar(text)) is type(value)
