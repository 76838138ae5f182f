"""Replies whose fields are of the wrong kind are read or refused, never crashed on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ostrom.models import anthropic_wire, openai_wire
from ostrom.models.base import Message, Request

ASKED = Request((Message("user", "?"),))


@pytest.mark.parametrize("reason", [[], {}, ["stop"], {"a": 1}, 3, True])
def test_a_reason_for_the_end_that_is_no_text_is_another_reason(reason: Any) -> None:
    choice = {"message": {"content": "[A0]"}, "finish_reason": reason}
    body = json.dumps({"choices": [choice]}).encode()
    assert openai_wire.decode(body, ASKED, who="m").finish == "other"
    body = json.dumps({"content": [{"type": "text", "text": "[A0]"}], "stop_reason": reason}).encode()
    assert anthropic_wire.decode(body, ASKED, who="m").finish == "other"
