"""A person at the keyboard."""

import pytest

from ostrom.agents.language import _by_number


@pytest.mark.parametrize(
    ("line", "labels", "read"),
    [
        (" 1 ", ["J", "F"], "J"), ("2", ["J", "F"], "F"), ("3", ["J", "F"], "3"), ("0", ["J", "F"], "0"),
        ("2", ["2", "1"], "2"), ("j", ["J", "F"], "J"), ("x", ["J", "F"], "x"), ("²", ["J", "F"], "²"),
    ],
)  # fmt: skip
def test_a_person_may_type_the_number_of_an_option(line: str, labels: list[str], read: str) -> None:
    assert _by_number(line, labels) == read
