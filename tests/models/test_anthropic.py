"""The Anthropic wire."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from ostrom.ground.errors import MalformedReply, RequestRefused, ServerFailed
from ostrom.models import Constraint, Message, Reply, Request
from ostrom.models.providers.anthropic import decode, encode
from ostrom.testing.faults import Faults
from ostrom.testing.server import LoopbackServer

Ask = Callable[..., Reply]
TALK = (Message("system", "rules"), Message("system", "more"), Message("user", "choose"))


def test_the_request() -> None:
    params = {"temperature": 0.5, "max_tokens": 9, "stop": "x", "seed": 1, "extra": {"top_k": 5}}
    assert encode(Request(TALK, params), "m") == (
        b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"choose"}],"system":"rules\\n\\nmore",'
        b'"temperature":0.5,"stop_sequences":["x"],"top_k":5}'
    )


def test_headers_path_and_key(server: LoopbackServer, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.origin)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-key")
    assert ask("anthropic/claude-sonnet-4-5").text in ("[A0]", "[A1]")
    received = server.requests[0]
    assert received.path == "/v1/messages"
    assert received.headers["x-api-key"] == "the-key"
    assert received.headers["anthropic-version"] == "2023-06-01"


def test_a_schema_is_an_output_format() -> None:
    schema = {"type": "object"}
    body = orjson.loads(encode(Request(TALK, constraint=Constraint(schema=schema)), "m"))
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": schema}}


@pytest.mark.parametrize("messages", [(TALK[0],), (*TALK, Message("system", "late"))])
def test_system_messages_belong_at_the_start(messages: tuple[Message, ...]) -> None:
    with pytest.raises(RequestRefused):
        encode(Request(messages), "m")


def got(blocks: Any, request: Request | None = None, **more: Any) -> Reply:
    document = {"content": blocks, "stop_reason": "end_turn", "model": "claude-sonnet-4-5", **more}
    return decode(orjson.dumps(document), request or Request(TALK), who="m")


def test_thinking_is_kept_apart_with_its_kind() -> None:
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "redacted_thinking"}, {"type": "text", "text": "[A]"}]
    later, earlier = got(blocks), got(blocks, model="claude-3-7-sonnet-20250219")
    assert (later.text, later.reasoning, later.reasoning_kind) == ("[A]", "hm", "summary")
    assert earlier.reasoning_kind == "raw"
    assert later.facts == {"redacted_thinking": 1}


def test_a_seed_that_was_not_used_is_on_record() -> None:
    assert got([], Request(TALK, {"seed": 1})).facts == {"ignored": ["seed"]}


def test_prefill_where_the_model_allows_it(server: LoopbackServer, ask: Ask) -> None:
    begun = Request((*TALK, Message("assistant", "I choose")))
    ask("anthropic/claude-3-5-haiku-20241022", begun, base_url=server.origin)
    assert server.bodies()[0]["messages"][-1] == {"role": "assistant", "content": "I choose"}
    with pytest.raises(RequestRefused, match="prefill"):
        ask("anthropic/claude-opus-4-6", begun, base_url=server.origin)


def test_overload_is_a_failed_server(ask: Ask) -> None:
    said = r"failed \(529\): Overloaded"
    with LoopbackServer(faults=Faults({"overloaded": 1.0})) as server, pytest.raises(ServerFailed, match=said):
        ask("anthropic/m", base_url=server.origin)


@pytest.mark.parametrize("blocks", [None, "text", [3], [{"type": "text"}]])
def test_content_that_is_none(blocks: Any) -> None:
    with pytest.raises(MalformedReply):
        got(blocks)
