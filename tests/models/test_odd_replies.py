"""Replies whose fields are of the wrong kind are read or refused, never crashed on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ostrom.ground.errors import MalformedReply, RequestRefused
from ostrom.models import openai_wire
from ostrom.models.base import Message, Request
from ostrom.models.providers import anthropic as anthropic_wire

ASKED = Request((Message("user", "?"),))


@pytest.mark.parametrize("reason", [[], {}, ["stop"], {"a": 1}, 3, True])
def test_a_reason_for_the_end_that_is_no_text_is_another_reason(reason: Any) -> None:
    choice = {"message": {"content": "[A0]"}, "finish_reason": reason}
    body = json.dumps({"choices": [choice]}).encode()
    assert openai_wire.decode(body, ASKED, who="m").finish == "other"
    body = json.dumps({"content": [{"type": "text", "text": "[A0]"}], "stop_reason": reason}).encode()
    assert anthropic_wire.decode(body, ASKED, who="m").finish == "other"


@pytest.mark.parametrize("count", [-1, 2**63, 2**64 - 1, 1.5, "3", None, [3]])
def test_a_count_of_tokens_that_is_none_is_unknown(count: Any) -> None:
    usage = {
        "prompt_tokens": count,
        "completion_tokens": count,
        "input_tokens": count,
        "output_tokens": count,
    }
    body = json.dumps({"choices": [{"message": {"content": "x"}}], "content": [], "usage": usage}).encode()
    for wire in (openai_wire, anthropic_wire):
        found = wire.decode(body, ASKED, who="m").usage
        assert (found.input, found.output) == (None, None)


def test_a_token_that_is_no_text_gives_no_log_probabilities() -> None:
    top = [{"token": 1, "logprob": -0.1}]
    choice = {"message": {"content": "x"}, "logprobs": {"content": [{"top_logprobs": top}]}}
    asked = Request((Message("user", "?"),), top_logprobs=2)
    with pytest.raises(RequestRefused, match="gives no log-probabilities"):
        openai_wire.decode(json.dumps({"choices": [choice]}).encode(), asked, who="m")


def test_a_reply_nested_beyond_writing_is_refused_in_one_line() -> None:
    body = b'{"choices": [{"message": [' + b"[" * 400 + b"]" * 400 + b"]}]}"
    with pytest.raises(MalformedReply, match="nested too deeply"):
        openai_wire.decode(body, ASKED, who="m")
