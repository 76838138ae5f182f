"""Words in messages that count and list."""

from __future__ import annotations

import pytest

from ostrom.ground.words import how_many, listed


@pytest.mark.parametrize(
    ("noun", "many"),
    [
        ("person", "people"),
        ("match", "matches"),
        ("batch", "batches"),
        ("model", "models"),
        ("retry", "retries"),
    ],
)
def test_one_is_not_several(noun: str, many: str) -> None:
    assert how_many(1, noun) == f"1 {noun}"
    assert how_many(0, noun) == f"0 {many}" and how_many(1500, noun) == f"1,500 {many}"


def test_names_in_a_sentence() -> None:
    assert [listed("abc"[:n]) for n in range(4)] == ["nothing", "a", "a and b", "a, b and c"]
