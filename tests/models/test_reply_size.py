"""The bound on the body of a reply, as docs/models.md states it."""

from typing import Any

import pytest

from ostrom.models.base import Request
from ostrom.models.http1 import largest_body

MIB = 1 << 20


@pytest.mark.parametrize(
    ("params", "alternatives", "size"),
    [
        ({"max_tokens": 2000}, 0, 4 * MIB + 2000 * 512), ({"max_tokens": 2000}, 5, 4 * MIB + 2000 * (512 + 5 * 256)),
        ({}, 0, 4 * MIB + 32_768 * 512), ({"max_tokens": 10**9}, 0, 256 * MIB),
        ({"max_tokens": 1, "extra": {"max_completion_tokens": 9000}}, 0, 4 * MIB + 9000 * 512),
        ({"extra": {"max_tokens": 10, "n": 3, "top_logprobs": 2}}, 0, 4 * MIB + 3 * 10 * 1024),
        ({"max_tokens": 10, "extra": {"top_k": 5}}, 0, 4 * MIB + 10 * 512),
        ({"max_tokens": "many", "extra": {"n": -1}}, 0, 4 * MIB + 32_768 * 512),
    ],
)  # fmt: skip
def test_it_follows_what_was_asked_for(params: dict[str, Any], alternatives: int, size: int) -> None:
    assert largest_body(Request((), params=params, top_logprobs=alternatives)) == size
