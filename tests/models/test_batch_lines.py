"""What services say of batches and their lines, and models without a server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostrom.ground.errors import (
    MalformedReply,
    ModelError,
    RequestRefused,
    ServerFailed,
    UnknownName,
    UsageError,
)
from ostrom.models import open_model, openai_wire
from ostrom.models.base import Message, Reply, Request
from ostrom.models.batches import BatchEndpoint, BatchStatus, HasBatches, ResultLine, Wanted
from ostrom.models.providers import anthropic, embedded, openai, outside, python

ASKED = Request((Message("user", "?"),))


@pytest.fixture
def endpoints(monkeypatch: pytest.MonkeyPatch) -> dict[str, BatchEndpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k" * 20)
    models = {wire: open_model(f"{wire}/m") for wire in ("openai", "anthropic")}
    return {wire: model.batches() for wire, model in models.items() if isinstance(model, HasBatches)}


BODY: dict[str, list[str]] = {"choices": []}


@pytest.mark.parametrize(
    ("entry", "kind", "status"),
    [
        ({"response": {"body": BODY, "status_code": 200}}, "reply", 200),
        ({"response": {"body": BODY}}, "reply", 200),
        ({"response": {"body": {"choices": "?"}, "status_code": 200}}, "bad", 200),
        ({"response": {"body": {"error": {"code": "x"}}, "status_code": 200}}, "error", 200),
        ({"response": {"body": {}, "status_code": 300}}, "error", 300),
        ({"response": {"body": {}, "status_code": 599}}, "error", 599),
        ({"response": {"body": {}, "status_code": 299}}, "bad", 200),
        ({"response": {"body": {}, "status_code": 600}}, "bad", 200),
        ({"response": {"body": "text", "status_code": 500}}, "bad", 200),
        ({"response": {"body": {}, "status_code": 600}, "error": {"code": "x"}}, "error", 200),
        ({"error": {"code": "Batch_Expired"}}, "unrun", 200),
        ({"error": {"code": "batch_cancelled"}}, "unrun", 200),
        ({"error": {"code": "server_error"}}, "error", 200),
        ({"error": "text"}, "bad", 200),
        ({}, "bad", 200),
    ],
)
def test_a_line_of_the_openai_wire(entry: dict[str, Any], kind: str, status: int) -> None:
    line = openai._line({"custom_id": "a", **entry})
    assert (line.id, line.kind, line.status) == ("a", kind, status)


@pytest.mark.parametrize(
    ("result", "kind", "status"),
    [
        ({"type": "succeeded", "message": {"content": []}}, "reply", 200),
        ({"type": "succeeded", "message": {"content": "text"}}, "bad", 200),
        ({"type": "succeeded", "message": "text"}, "bad", 200),
        ({"type": "canceled"}, "unrun", 200), ({"type": "cancelled"}, "unrun", 200),
        ({"type": "expired"}, "unrun", 200),
        ({"type": "errored", "error": {"type": "invalid_request_error"}}, "error", 400),
        ({"type": "errored", "error": {"type": "error", "error": {"type": "invalid_request_error"}}}, "error", 400),
        ({"type": "errored", "error": {"type": "api_error"}}, "error", 500),
        ({"type": "errored", "error": "text"}, "error", 500),
        ({"type": "other"}, "bad", 200), ("text", "bad", 200),
    ],
)  # fmt: skip
def test_a_line_of_the_anthropic_wire(result: Any, kind: str, status: int) -> None:
    line = anthropic._line({"custom_id": "a", "result": result})
    assert (line.id, line.kind, line.status) == ("a", kind, status)


def test_an_error_in_a_line_is_raised_by_its_status(endpoints: dict[str, BatchEndpoint]) -> None:
    for status, kind in ((400, RequestRefused), (500, ServerFailed)):
        with pytest.raises(kind):
            endpoints["openai"].read(ResultLine("a", "error", {"error": {"message": "no"}}, status), ASKED)
    with pytest.raises(ModelError, match="no good"):
        endpoints["openai"].read(ResultLine("a", "error", {"message": "no good"}), ASKED)


COUNTS = {"total": 5, "completed": 3, "failed": 1}


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({}, {"ended": False, "how": "in_progress", "total": 5, "ended_requests": 4, "replied": 3}),
        ({"request_counts": {"total": 5, "completed": 3}}, {"total": 5, "ended_requests": None, "replied": 3}),
        ({"request_counts": [5]}, {"total": None, "ended_requests": None, "replied": None}),
        ({"status": "Completed"}, {"ended": True, "how": "completed"}),
        ({"metadata": {"ostrom": "mark"}, "input_file_id": "f", "created_at": 7},
         {"marker": "mark", "input": "f", "created": 7.0}),
        ({"metadata": {"ostrom": 1}, "input_file_id": 1, "created_at": "7"},
         {"marker": None, "input": None, "created": None}),
        ({"output_file_id": "o", "error_file_id": "e"}, {"outputs": ("o", "e")}),
        ({"output_file_id": "../o", "error_file_id": None}, {"outputs": ()}),
    ],
)  # fmt: skip
def test_what_openai_says_of_a_batch(
    endpoints: dict[str, BatchEndpoint], more: dict[str, Any], found: dict[str, Any]
) -> None:
    document = {"id": "b", "status": "in_progress", "request_counts": COUNTS, **more}
    status = endpoints["openai"]._status(document)
    assert {name: getattr(status, name) for name in found} == found


def test_problems_of_a_batch_have_a_code_a_message_and_a_line(endpoints: dict[str, BatchEndpoint]) -> None:
    data = [{"code": "c", "message": "m", "line": 2}, {"code": None, "line": "2"}, "text"]
    for errors in ({"data": data}, data):
        status = endpoints["openai"]._status({"id": "b", "status": "failed", "errors": errors})
        assert [(p.code, p.message, p.line) for p in status.problems] == [("c", "m", 2), ("", "", None)]


ENDS = {"succeeded": 2, "errored": 1, "canceled": 0, "expired": 1}


@pytest.mark.parametrize(
    ("more", "found"),
    [
        (
            {},
            {
                "ended": False,
                "how": "in_progress",
                "total": 6,
                "ended_requests": 4,
                "replied": 2,
                "outputs": (),
            },
        ),
        ({"processing_status": "ended"}, {"ended": True, "outputs": ("b",)}),
        ({"request_counts": {**ENDS, "processing": "?"}}, {"total": None, "ended_requests": 4, "replied": 2}),
        ({"request_counts": None}, {"total": None, "ended_requests": None, "replied": None}),
        ({"request_counts": {}}, {"total": None}),
    ],
)
def test_what_anthropic_says_of_a_batch(
    endpoints: dict[str, BatchEndpoint], more: dict[str, Any], found: dict[str, Any]
) -> None:
    counts = {"processing": 2, **ENDS}
    document = {"id": "b", "processing_status": "in_progress", "request_counts": counts, **more}
    status = endpoints["anthropic"]._status(document)
    assert {name: getattr(status, name) for name in found} == found


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_batch_without_a_status_or_a_name_is_malformed(
    endpoints: dict[str, BatchEndpoint], wire: str
) -> None:
    for document in ({"id": "b"}, {"id": "../b", "status": "x", "processing_status": "x"}):
        with pytest.raises(MalformedReply, match=r"without a (processing_)?status|no usable identifier"):
            endpoints[wire]._status(document)


@pytest.mark.parametrize(
    ("wire", "listed", "wanted", "ours"),
    [
        ("openai", {"marker": "m"}, Wanted("m", None, 2, None), True),
        ("openai", {"marker": "x", "input": "f"}, Wanted("m", "f", 2, None), True),
        ("openai", {"marker": "x", "input": None}, Wanted("m", None, 2, None), False),
        ("openai", {"marker": "x", "input": "g"}, Wanted("m", "f", 2, None), False),
        ("anthropic", {"total": 2, "created": 5.0}, Wanted("m", None, 2, 5.0), True),
        ("anthropic", {"total": 2, "created": 4.9}, Wanted("m", None, 2, 5.0), False),
        ("anthropic", {"total": None, "created": None}, Wanted("m", None, 2, 5.0), True),
        ("anthropic", {"total": 3, "created": 9.0}, Wanted("m", None, 2, None), False),
        ("anthropic", {"total": 2, "created": 1.0}, Wanted("m", None, 2, None), True),
    ],
)
def test_which_listed_batch_may_be_ours(
    endpoints: dict[str, BatchEndpoint], wire: str, listed: dict[str, Any], wanted: Wanted, ours: bool
) -> None:
    assert endpoints[wire].is_ours(BatchStatus("b", False, "in_progress", **listed), wanted) == ours


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ({}, "calls of tools that are no list"),
        ([{"id": "a"}], "without a function"),
        ([7], "without a function"),
    ],
)
def test_calls_of_tools_that_are_none_are_malformed(calls: Any, message: str) -> None:
    with pytest.raises(MalformedReply, match=message):
        list(openai_wire._called(calls, "m"))
    assert list(openai_wire._called([{"id": "a", "function": {"name": "f"}}], "m")) == [("a", "f", "{}")]


async def _later(_: Any) -> str:
    return "later"


def _fails(_: Any) -> str:
    raise ValueError("broken")


def _declines(_: Any) -> str:
    raise RequestRefused("own words")


@pytest.mark.parametrize(
    ("function", "gives"),
    [
        (lambda told: f"{told[0]['role']}: {told[0]['content']}", "user: ?"), (_later, "later"),
        (lambda _: Reply("whole"), "whole"), (_fails, r"^python/f: ValueError: broken$"), (_declines, "^own words$"),
        (lambda _: 7, "must return a text or a Reply, returned int"),
    ],
)  # fmt: skip
def test_a_function_is_a_model(function: Any, gives: str) -> None:
    python.register("f", function)
    model = open_model("python/f")
    assert model.connections == 16 and model.describe() == {"name": "python/f", "wire": "python"}
    if function in (_fails, _declines) or "must" in gives:
        with pytest.raises(ModelError, match=gives) as caught:
            asyncio.run(model.complete(ASKED))
        assert type(caught.value) is (RequestRefused if function is _declines else ModelError)
    else:
        assert asyncio.run(model.complete(ASKED)).text == gives


def test_a_function_that_nobody_gave_and_a_policy_outside_cannot_be_opened() -> None:
    with pytest.raises(UnknownName, match="function as a model in this process"):
        open_model("python/nobody")
    with pytest.raises(UsageError, match=r"^outside/policy: answers from outside"):
        open_model("outside/policy")
    policy = outside.OutsideModel("outside/policy")
    assert policy.describe() == {"name": "outside/policy", "wire": "outside"}
    with pytest.raises(ModelError, match="cannot be called"):
        asyncio.run(policy.complete(ASKED))


def piece(text: str | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    logprobs = {"content": [text]} if text else None
    return {"choices": [{"delta": {"content": text}, "finish_reason": finish, "logprobs": logprobs}], **more}


def test_streamed_pieces_are_one_reply() -> None:
    pieces = [
        piece("a", id="1", model="/x/m.gguf"),
        piece("b", "length"),
        piece(None, None, usage={"n": 2}),
        {},
    ]
    assert embedded._document(pieces, "m") == {
        "id": "1", "model": "m.gguf", "usage": {"n": 2},
        "choices": [{"message": {"content": "ab"}, "finish_reason": "length", "logprobs": {"content": ["a", "b"]}}],
    }  # fmt: skip
    assert embedded._document([piece("a"), {"error": "e"}, piece("b", "stop")], "m") == {"error": "e"}
    with pytest.raises(MalformedReply, match="m: the reply was stopped before its end"):
        embedded._document([piece("a")], "m")
