"""What services say about batches, and how calls of tools are written, document by document."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from ostrom.ground.errors import MalformedReply, ModelError, RateLimited, RequestRefused, UsageError
from ostrom.models import openai_wire
from ostrom.models.asking import result_turn, tool_turn
from ostrom.models.base import Message, Request, ToolSpec
from ostrom.models.batches import (
    SPARE_LINES,
    BatchLimits,
    BatchRequest,
    BatchStatus,
    ResultLine,
    Wanted,
    count,
    identifier,
    is_identifier,
    largest_results,
    may_batch,
    no_endpoint,
)
from ostrom.models.dialects import DIALECTS
from ostrom.models.providers import anthropic
from ostrom.models.providers.openai import OpenAIBatches
from ostrom.models.redaction import redactor

ASKED = Request((Message("user", "?"),))


class Script:
    """A transport that answers with documents in turn, and keeps what it was sent."""

    who, secrets = "m", ("sk-secret",)
    redactor = redactor(("sk-secret",))

    def __init__(self, *bodies: Any) -> None:
        self.bodies = [body if isinstance(body, bytes) else json.dumps(body).encode() for body in bodies]
        self.sent: list[tuple[Any, bytes, dict[str, Any]]] = []

    async def exchange(self, route: Any, body: bytes = b"", **options: Any) -> SimpleNamespace:
        self.sent.append((route, body, options))
        return SimpleNamespace(body=self.bodies.pop(0))


def openai(*bodies: Any) -> Any:
    transport: Any = Script(*bodies)
    return OpenAIBatches(transport, "/v1/chat/completions", lambda _: b"{}")


def claude(*bodies: Any) -> Any:
    transport: Any = Script(*bodies)
    return anthropic.AnthropicBatches(transport, lambda _: b"{}")


COUNTS = {"total": 5, "completed": 2, "failed": 1}


@pytest.mark.parametrize(
    ("document", "status"),
    [
        ({"id": "b", "status": "in_progress"}, BatchStatus("b", False, "in_progress")),
        ({"id": "b", "status": "COMPLETED", "request_counts": COUNTS, "created_at": 7, "input_file_id": "f",
          "metadata": {"ostrom": "mark"}, "output_file_id": "o", "error_file_id": "e"},
         BatchStatus("b", True, "completed", 5, 3, 2, 7.0, "f", "mark", ("o", "e"))),
        ({"id": "b", "status": "failed", "request_counts": {"total": 5, "completed": 2}, "created_at": "soon",
          "input_file_id": 3, "metadata": {"ostrom": 3}, "output_file_id": "../x", "error_file_id": None},
         BatchStatus("b", True, "failed", 5, None, 2)),
        ({"id": "b", "status": "expired", "request_counts": 3, "metadata": "x"}, BatchStatus("b", True, "expired")),
        ({"id": "b", "status": "cancelled"}, BatchStatus("b", True, "cancelled")),
        ({"id": "b", "status": "canceled"}, BatchStatus("b", True, "canceled")),
        ({"id": "b", "status": "cancelling"}, BatchStatus("b", False, "cancelling")),
    ],
)  # fmt: skip
def test_openai_says_how_a_batch_stands(document: dict[str, Any], status: BatchStatus) -> None:
    assert asyncio.run(openai(document).retrieve("b")) == status
    assert "secret" not in asyncio.run(openai({"id": "b", "status": "sk-secret"}).retrieve("b")).how


def test_openai_says_why_a_batch_failed() -> None:
    data = [{"code": "c", "message": "no", "line": 3}, {"message": "m" * 2000, "line": "x"}, "odd", {"code": "d" * 200}]
    for errors in ({"data": data}, data):
        document = {"id": "b", "status": "failed", "errors": errors}
        problems = asyncio.run(openai(document).retrieve("b")).problems
        told = [(one.code, len(one.message), one.line) for one in problems]
        assert told == [("c", 2, 3), ("", 1000, None), ("d" * 100, 0, None)]
    assert asyncio.run(openai({"id": "b", "status": "failed", "errors": "x"}).retrieve("b")).problems == ()


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"id": "b"}, "m sent a batch without a status"),
        ({"id": "../b", "status": "x"}, "m sent no usable identifier"),
        ({"status": "x"}, "m sent no usable identifier"),
        ([], "m sent no JSON object from /batches/b"),
        (b"no", "m sent no JSON object from /batches/b"),
    ],
)
def test_a_batch_that_cannot_be_read_is_malformed(document: Any, said: str) -> None:
    with pytest.raises(MalformedReply) as refused:
        asyncio.run(openai(document).retrieve("b"))
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("document", "status"),
    [
        ({"id": "b", "processing_status": "in_progress"}, BatchStatus("b", False, "in_progress")),
        ({"id": "b", "processing_status": "ended", "created_at": "1970-01-01T00:01:00Z",
          "request_counts": {"processing": 1, "succeeded": 2, "errored": 3, "canceled": 4, "expired": 5}},
         BatchStatus("b", True, "ended", 15, 14, 2, 60.0, outputs=("b",))),
        ({"id": "b", "processing_status": "ended", "request_counts": {"succeeded": 2, "odd": "x"}},
         BatchStatus("b", True, "ended", None, 2, 2, outputs=("b",))),
        ({"id": "b", "processing_status": "canceling", "request_counts": {}},
         BatchStatus("b", False, "canceling", None, 0)),
        ({"id": "b", "processing_status": "ended", "created_at": "1970-01-01T00:01:00"},
         BatchStatus("b", True, "ended", created=60.0, outputs=("b",))),
    ],
)  # fmt: skip
def test_anthropic_says_how_a_batch_stands(document: dict[str, Any], status: BatchStatus) -> None:
    assert asyncio.run(claude(document).retrieve("b")) == status
    with pytest.raises(MalformedReply, match=r"^m sent a batch without a processing_status$"):
        asyncio.run(claude({"id": "b"}).retrieve("b"))


@pytest.mark.parametrize(
    ("entry", "kind", "status"),
    [
        ({"response": {"body": {"choices": []}}}, "reply", 200),
        ({"response": {"body": {"choices": []}, "status_code": 200}}, "reply", 200),
        ({"response": {"body": {}}}, "bad", 200),
        ({"response": {"body": {"error": {"message": "no"}}}}, "error", 200),
        ({"response": {"body": {}, "status_code": 300}}, "error", 300),
        ({"response": {"body": {}, "status_code": 599}}, "error", 599),
        ({"response": {"body": {}, "status_code": 299}}, "bad", 200),
        ({"response": {"body": {}, "status_code": 600}}, "bad", 200),
        ({"response": {"body": {}, "status_code": True}}, "bad", 200),
        ({"response": {"body": "x"}, "error": {"code": "BATCH_EXPIRED"}}, "unrun", 200),
        ({"error": {"code": "batch_cancelled"}}, "unrun", 200),
        ({"error": {"code": "request_expired"}}, "unrun", 200),
        ({"error": {"code": "other"}}, "error", 200),
        ({"error": "x"}, "bad", 200),
        ({}, "bad", 200),
    ],
)
def test_a_line_of_openai_says_what_became_of_a_request(entry: dict[str, Any], kind: str, status: int) -> None:
    endpoint = openai({"custom_id": "r", **entry})
    (line,) = asyncio.run(endpoint.results(BatchStatus("b", True, "completed", 2), "o"))
    assert (line.id, line.kind, line.status) == ("r", kind, status)
    ((route, _, options),) = endpoint.transport.sent
    assert route.path == "/files/o/content" and options == {"largest": (64 << 20) + (2 << 18), "more_time": 0.02}


@pytest.mark.parametrize(
    ("result", "kind", "status"),
    [
        ({"type": "succeeded", "message": {"content": []}}, "reply", 200),
        ({"type": "succeeded", "message": {"content": "x"}}, "bad", 200),
        ({"type": "succeeded"}, "bad", 200),
        ({"type": "canceled"}, "unrun", 200),
        ({"type": "cancelled"}, "unrun", 200),
        ({"type": "expired"}, "unrun", 200),
        ({"type": "errored", "error": {"type": "rate_limit_error"}}, "error", 429),
        ({"type": "errored", "error": {"type": "error", "error": {"type": "invalid_request_error"}}}, "error", 400),
        ({"type": "errored", "error": {"type": "new"}}, "error", 500),
        ({"type": "errored"}, "error", 500),
        ({"type": "other"}, "bad", 200),
        ("x", "bad", 200),
    ],
)  # fmt: skip
def test_a_line_of_anthropic_says_what_became_of_a_request(result: Any, kind: str, status: int) -> None:
    endpoint = claude({"custom_id": "r", "result": result})
    (line,) = asyncio.run(endpoint.results(BatchStatus("b", True, "ended"), "b"))
    assert (line.id, line.kind, line.status) == ("r", kind, status)
    ((route, _, options),) = endpoint.transport.sent
    assert route.path == "/batches/b/results" and options == {"largest": 1 << 30, "more_time": 100.0}


def test_lines_of_results_are_bounded_by_the_requests_and_odd_ones_left_out() -> None:
    line = b'{"custom_id": "r"}\n'
    odd = b'no\n[1]\n{"custom_id": 3}\n\n'
    found = asyncio.run(openai(line * (2 + SPARE_LINES) + odd).results(BatchStatus("b", True, "x", 1), "o"))
    assert len(found) == 2 + SPARE_LINES
    with pytest.raises(MalformedReply, match=r"^m sent more lines of results than requests it was sent$"):
        asyncio.run(openai(line * (3 + SPARE_LINES)).results(BatchStatus("b", True, "x", 1), "o"))
    assert len(asyncio.run(openai(line * 1100).results(BatchStatus("b", True, "x"), "o"))) == 1100


def test_errors_in_lines_are_those_of_calls() -> None:
    for endpoint, line in (
        (openai(), ResultLine("r", "error", {"error": {"message": "slow down sk-secret"}}, 429)),
        (claude(), ResultLine("r", "error", {"type": "rate_limit_error", "message": "slow down sk-secret"}, 429)),
    ):
        with pytest.raises(RateLimited, match="slow down") as limited:
            endpoint.read(line, ASKED)
        assert "secret" not in str(limited.value)
    with pytest.raises(ModelError, match="overloaded"):
        openai().read(ResultLine("r", "error", {"message": "overloaded"}), ASKED)
    reply = openai().read(ResultLine("r", "reply", {"choices": [{"message": {"content": "a sk-secret"}}]}), ASKED)
    assert reply.text.startswith("a ") and "secret" not in reply.text


def test_a_file_is_uploaded_and_made_a_batch() -> None:
    endpoint = openai({"id": "file-1"}, {"id": "b", "status": "validating"})
    assert asyncio.run(endpoint.upload("mark", [BatchRequest("r1", b'{"a":1}'), BatchRequest("r2", b"{}")])) == "file-1"
    assert asyncio.run(endpoint.create("mark", "file-1", ())).id == "b"
    (file, body, options), (made, wanted, _) = endpoint.transport.sent
    assert (file.method, file.path, file.kind) == ("POST", "/files", "multipart/form-data; boundary=ostrom-mark")
    first, second = (json.loads(line) for line in body.split(b"\r\n\r\n")[2].split(b"\n")[:2])
    assert first == {"custom_id": "r1", "method": "POST", "url": "/v1/chat/completions", "body": {"a": 1}}
    assert second["custom_id"] == "r2" and body.endswith(b"\n\r\n--ostrom-mark--\r\n")
    assert b'name="purpose"\r\n\r\nbatch\r\n' in body and b'filename="mark.jsonl"' in body
    assert options == {"more_time": len(body) / 100_000} and (made.method, made.path) == ("POST", "/batches")
    assert json.loads(wanted) == {
        "input_file_id": "file-1", "endpoint": "/v1/chat/completions", "completion_window": "24h",
        "metadata": {"ostrom": "mark"},
    }  # fmt: skip
    other = claude({"id": "b", "processing_status": "in_progress"})
    assert asyncio.run(other.upload("mark", [])) is None
    asyncio.run(other.create("mark", None, [BatchRequest("r1", b'{"a":1}')]))
    assert json.loads(other.transport.sent[0][1]) == {"requests": [{"custom_id": "r1", "params": {"a": 1}}]}


@pytest.mark.parametrize(
    ("found", "wanted", "ours"),
    [
        (BatchStatus("b", False, "x", marker="m"), Wanted("m", "f", 2, None), True),
        (BatchStatus("b", False, "x", input="f"), Wanted("m", "f", 2, None), True),
        (BatchStatus("b", False, "x"), Wanted("m", None, 2, None), False),
        (BatchStatus("b", False, "x", marker="n", input="g"), Wanted("m", "f", 2, None), False),
    ],
)
def test_a_batch_of_openai_is_told_by_its_mark_or_its_file(found: BatchStatus, wanted: Wanted, ours: bool) -> None:
    assert openai().is_ours(found, wanted) is ours


@pytest.mark.parametrize(
    ("total", "created", "since", "ours"),
    [
        (2, None, None, True), (None, None, 5.0, True), (3, None, None, False), (2, 5.0, 5.0, True),
        (2, 4.9, 5.0, False), (2, 4.9, None, True),
    ],
)  # fmt: skip
def test_a_batch_of_anthropic_is_told_by_its_size_and_time(
    total: int | None, created: float | None, since: float | None, ours: bool
) -> None:
    found = BatchStatus("b", False, "x", total, created=created)
    assert claude().is_ours(found, Wanted("m", None, 2, since)) is ours


@pytest.mark.parametrize(
    ("document", "names", "after"),
    [
        ({"data": []}, [], None),
        ({"data": [], "has_more": True, "last_id": "z"}, [], None),
        ({"data": [{"id": "a", "status": "x"}, {"id": "b"}, {"id": "c", "status": "y"}], "has_more": True},
         ["a", "c"], "c"),
        ({"data": [{"id": "a", "status": "x"}], "has_more": True, "last_id": "z"}, ["a"], "z"),
        ({"data": [{"id": "a", "status": "x"}], "has_more": False, "last_id": "z"}, ["a"], None),
        ({"data": [{"status": "x"}], "has_more": True}, [], None),
    ],
)  # fmt: skip
def test_a_listing_is_read_page_by_page(document: Any, names: list[str], after: str | None) -> None:
    endpoint = openai(document)
    found, last = asyncio.run(endpoint.page("x/y", 7))
    assert ([one.id for one in found], last) == (names, after)
    assert endpoint.transport.sent[0][0].path == "/batches?limit=7&after=x%2Fy"
    odd: list[Any] = [{}, {"data": {}}, {"data": [1]}]
    for wrong in odd:
        with pytest.raises(MalformedReply, match=r"^m sent a listing of batches without data$"):
            asyncio.run(openai(wrong).page())
    first = claude({"data": []}, {"data": []})
    asyncio.run(first.page())
    asyncio.run(first.page("a", 1))
    assert [sent[0].path for sent in first.transport.sent] == ["/batches?limit=100", "/batches?limit=1&after_id=a"]
    asyncio.run((gone := openai({})).cancel("b"))
    assert (gone.transport.sent[0][0].method, gone.transport.sent[0][0].path) == ("POST", "/batches/b/cancel")


@pytest.mark.parametrize(
    ("value", "found"), [(0, 0), (10**9, 10**9), (10**9 + 1, None), (-1, None), (True, None), (1.0, None), ("1", None)]
)
def test_a_count_is_a_whole_number(value: object, found: int | None) -> None:
    assert count(value) == found


@pytest.mark.parametrize(
    ("text", "fits"),
    [("", False), ("a" * 256, True), ("a" * 257, False), ("a:b.c-d_e", True), ("a..b", False), ("a/b", False),
     ("ä", False)],
)  # fmt: skip
def test_an_identifier_fits_into_a_path(text: str, fits: bool) -> None:
    assert is_identifier(text) is fits
    if fits:
        assert identifier({"id": text}, "m") == text


def test_bounds_and_names_of_batch_endpoints() -> None:
    assert largest_results(0) == 64 << 20 and largest_results(1) == (64 << 20) + (1 << 18)
    assert largest_results(10**6) == 1 << 30
    assert may_batch("http://x/v1#m") and may_batch("https://x/v1#m") and not may_batch("scripted/x")
    for status, said in (
        (405, "lists no batches (405)"),
        (501, "lists no batches (501)"),
        (404, "has no batch endpoint (404)"),
    ):
        error = RequestRefused("x")
        error.status = status
        told = no_endpoint("m", error)
        assert isinstance(told, UsageError) and said in str(told) and str(told).endswith("run without --batch")


TOOL = ToolSpec("add", "Adds.", {"type": "object"})
CALLS = [{"id": "c1", "name": "add", "arguments": '{"a":1}'}, {"id": "c2", "name": "add", "arguments": "not json"}]
TALK = Request(
    (Message("user", "?"), tool_turn("", CALLS), result_turn(CALLS[0], "1"), result_turn(CALLS[1], "2"),
     tool_turn("so", CALLS[:1]), result_turn(CALLS[0], "3")),
    tools=(TOOL,),
)  # fmt: skip


def test_calls_of_tools_are_written_for_openai() -> None:
    body = orjson.loads(openai_wire.encode(TALK, "m", DIALECTS["openai"]))
    user, first, one, two, second, three = body["messages"]
    assert user == {"role": "user", "content": "?"} and (first["role"], first["content"]) == ("assistant", None)
    assert first["tool_calls"] == [
        {"id": c["id"], "type": "function", "function": {"name": "add", "arguments": c["arguments"]}} for c in CALLS
    ]
    assert one == {"role": "tool", "tool_call_id": "c1", "content": "1"}
    assert (two["tool_call_id"], second["content"], three["content"]) == ("c2", "so", "3")
    told = {"name": "add", "description": "Adds.", "parameters": {"type": "object"}}
    assert body["tools"] == [{"type": "function", "function": told}]


def test_calls_of_tools_are_written_for_anthropic() -> None:
    user, first, results, second, last = anthropic._with_tools(TALK.messages)
    assert user is TALK.messages[0] and (first["role"], results["role"]) == ("assistant", "user")
    assert [(one["type"], one["id"], one["input"]) for one in first["content"]] == [
        ("tool_use", "c1", {"a": 1}), ("tool_use", "c2", {}),
    ]  # fmt: skip
    assert [(one["tool_use_id"], one["content"]) for one in results["content"]] == [("c1", "1"), ("c2", "2")]
    assert second["content"][0] == {"type": "text", "text": "so"} and len(second["content"]) == 2
    assert [one["tool_use_id"] for one in last["content"]] == ["c1"]


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ({"a": 1}, "m sent calls of tools that are no list"),
        ([1], "m sent a call of a tool without a function"),
        ([{"id": "c"}], "m sent a call of a tool without a function"),
        ([{"function": {}}], "m called a tool without a name, or with more than"),
        ([{"function": {"name": "f"}}] * 1000, "m called more than"),
    ],
)
def test_a_call_of_a_tool_that_cannot_be_read_is_malformed(calls: Any, said: str) -> None:
    document = {"choices": [{"message": {"content": None, "tool_calls": calls}}]}
    with pytest.raises(MalformedReply) as refused:
        openai_wire.read(document, TALK, who="m")
    assert str(refused.value).startswith(said)


def test_a_call_of_a_tool_is_kept_as_a_turn() -> None:
    calls = [{"id": "", "function": {"name": "add"}}, {"id": "x", "function": {"name": "add", "arguments": {"a": 1}}}]
    document: Any = {"choices": [{"message": {"content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}]}
    reply = openai_wire.read(document, TALK, who="m")
    assert reply.finish == "tools" and json.loads(reply.text) == {
        "text": "",
        "calls": [
            {"id": "call_0", "name": "add", "arguments": "{}"}, {"id": "x", "name": "add", "arguments": '{"a":1}'}
        ],
    }  # fmt: skip
    document["choices"][0]["message"]["content"] = "plain"
    assert openai_wire.read(document, ASKED, who="m").text == "plain", "none was offered"
    used = {"content": [{"type": "tool_use", "id": "x", "name": "add", "input": {"a": 1}}], "stop_reason": "tool_use"}
    assert anthropic.read(used, TALK, who="m").finish == "tools"
    with pytest.raises(MalformedReply, match=r"^m called a tool, and none was offered$"):
        anthropic.read(used, ASKED, who="m")


def test_batches_are_as_large_as_the_published_references_allow() -> None:
    assert OpenAIBatches.limits == BatchLimits(50_000, 200_000_000)
    assert anthropic.AnthropicBatches.limits == BatchLimits(100_000, 256_000_000)
