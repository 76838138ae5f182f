"""Server replies that the wire formats do not promise: bodies, error pages, headers."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from contextlib import suppress
from random import Random
from types import SimpleNamespace
from typing import Any

import orjson

from chaos.fuzzing import mutate
from chaos.fuzzing.watch import Target
from ostrom.ground.errors import ModelError
from ostrom.models import openai_wire
from ostrom.models.base import Message, Reply, Request
from ostrom.models.batches import BatchStatus
from ostrom.models.failures import from_status, retry_after
from ostrom.models.http1 import InvalidResponse, ResponseReader
from ostrom.models.providers import anthropic as anthropic_wire
from ostrom.models.providers.openai import OpenAIBatches
from ostrom.models.redaction import redactor

KEYS = (
    "choices", "message", "content", "error", "code", "type", "finish_reason", "logprobs", "top_logprobs",
    "token", "logprob",
    "usage", "prompt_tokens", "completion_tokens", "reasoning_content", "reasoning", "reasoning_details",
    "refusal", "model",
    "id", "text", "thinking", "stop_reason", "tool_calls", "system_fingerprint", "prompt_tokens_details",
    "input_tokens",
)  # fmt: skip
OPENAI: tuple[Any, ...] = (
    {
        "id": "x", "model": "m", "system_fingerprint": "f",
        "choices": [{
            "index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "<think>hm</think>[A0]"},
            "logprobs": {"content": [{"token": "A", "top_logprobs": [{"token": "A", "logprob": -0.1},
                                                                  {"token": "B", "logprob": -2}]}]},
        }],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1},
                  "completion_tokens_details": {"reasoning_tokens": 1}},
    },
    {"choices": [{"message": {"content": [{"type": "text", "text": "[A0]"},
                                          {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}],
                              "reasoning": "hm", "reasoning_details": [{"type": "reasoning.summary"}]},
                  "finish_reason": "length"}]},
    {"choices": [{"message": {"content": None, "refusal": "no", "tool_calls": []}, "error": {"code": 502}}]},
    {"error": {"message": "upstream broke", "code": 502, "type": "server_error"}},
)  # fmt: skip
ANTHROPIC: tuple[Any, ...] = (
    {"id": "m", "model": "claude-3-7-x", "role": "assistant", "stop_reason": "end_turn",
     "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "[A0]"},
                 {"type": "redacted_thinking"}],
     "usage": {"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": 1, "cache_creation_input_tokens": 0}},
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
)  # fmt: skip
COMPLETION: tuple[Any, ...] = (
    {"id": "x", "choices": [{"text": " J", "index": 0, "finish_reason": "length",
                             "logprobs": {"tokens": [" J"], "top_logprobs": [{" J": -0.1, " F": -2}]}}],
     "usage": {"prompt_tokens": 3, "completion_tokens": 1}},
)  # fmt: skip
BATCHES: tuple[Any, ...] = (
    {"id": "batch_1", "status": "completed", "created_at": 1700000000, "input_file_id": "file-1",
     "output_file_id": "file-2", "error_file_id": None, "metadata": {"ostrom": "m"},
     "request_counts": {"total": 2, "completed": 1, "failed": 1},
     "errors": {"data": [{"code": "x", "message": "no", "line": 1}]}},
    {"id": "msgbatch_1", "processing_status": "ended", "created_at": "2026-01-01T00:00:00Z",
     "request_counts": {"processing": 0, "succeeded": 1, "errored": 1, "canceled": 0, "expired": 0}},
    {"data": [{"id": "batch_1", "status": "in_progress"}, {"id": "msgbatch_1", "processing_status": "in_progress"}],
     "has_more": True, "last_id": "batch_1"},
    {"custom_id": "r1", "response": {"status_code": 200, "body": OPENAI[0]}, "error": None},
    {"custom_id": "r2", "response": {"status_code": 500, "body": OPENAI[3]}, "error": None},
    {"custom_id": "r3", "response": None, "error": {"code": "batch_expired", "message": "late"}},
    {"custom_id": "r4", "result": {"type": "succeeded", "message": ANTHROPIC[0]}},
    {"custom_id": "r5", "result": {"type": "errored", "error": ANTHROPIC[1]}},
)  # fmt: skip
BATCH_KEYS = (
    *KEYS, "status", "processing_status", "request_counts", "created_at", "data", "has_more", "last_id", "custom_id",
    "response", "body", "status_code", "result", "succeeded", "errored", "expired", "errors", "metadata", "line",
)  # fmt: skip
HEADERS = ("2", "1500", "Thu, 01 Jan 1970 00:01:00 GMT", "Wed, 21 Oct 2099 07:28:00 GMT", "-1", "1e9", "soon", "")
ASKED = Request((Message("user", "?"),), top_logprobs=2)
PLAIN = Request((Message("user", "?"), Message("assistant", "[")), params={"seed": 1})
SECRET = "sk-canary-0123456789"


def bodies(seeds: tuple[Any, ...], words: tuple[str, ...] = KEYS) -> Callable[[Random], bytes]:
    """Draws bodies of replies: documents changed in structure or byte by byte."""
    texts = tuple(json.dumps(seed) for seed in seeds)

    def draw(rng: Random) -> bytes:
        if rng.random() < 0.3:
            return mutate.text(rng, texts, words).encode("utf-8", rng.choice(("surrogatepass", "replace")))
        document = mutate.tree(rng, seeds, words)
        try:
            return json.dumps(document, default=str, skipkeys=True).encode()
        except (RecursionError, ValueError):  # it is too deep, or a change put it into itself
            return b'{"choices":' * 5000

    return draw


def _feed_openai(body: bytes) -> None:
    _check(openai_wire.decode(body, PLAIN, who="m", secrets=(SECRET,)))
    _check(openai_wire.decode(body, ASKED, who="m"))


def _feed_anthropic(body: bytes) -> None:
    _check(anthropic_wire.decode(body, PLAIN, who="m", secrets=(SECRET,)))


class _Transport:
    """Answers every exchange with one body."""

    who, secrets, redactor = "m", (SECRET,), redactor((SECRET,))

    def __init__(self, body: bytes) -> None:
        self.body = body

    async def exchange(self, *_: object, **__: object) -> SimpleNamespace:
        return SimpleNamespace(body=self.body)


def _feed_batches(body: bytes) -> None:
    """One document in every place of a batch where it can stand: status, listing, line of results."""
    transport: Any = _Transport(body)
    for endpoint in (
        OpenAIBatches(transport, "/v1", lambda _: b""),
        anthropic_wire.AnthropicBatches(transport, lambda _: b""),
    ):
        for exchange in (endpoint.retrieve("b"), endpoint.page(), endpoint.results(BatchStatus("b", True, "x"), "o")):
            found = _refused_or(exchange)
            for line in found if isinstance(found, list) else []:
                with suppress(ModelError):
                    _check(endpoint.read(line, ASKED))


def _refused_or(exchange: Coroutine[Any, Any, Any]) -> object:
    """What an exchange that waits for nobody gives; None where the reply is refused."""
    try:
        exchange.send(None)
    except StopIteration as stop:
        return stop.value
    except ModelError as error:
        assert len(str(error).splitlines()) == 1
    return None


def _check(reply: Reply) -> None:
    assert isinstance(reply.text, str) and reply.finish in ("stop", "length", "filter", "other")
    for count in (reply.usage.input, reply.usage.output, reply.usage.cached, reply.usage.reasoning):
        assert count is None or (type(count) is int and count >= 0), f"token count {count!r}"
    # What was read goes into the journal: SQLite and JSON must be able to hold it.
    reply.text.encode()
    (reply.reasoning or "").encode()
    orjson.dumps([reply.logprobs, reply.facts])
    assert all(count is None or count < 2**63 for count in (reply.usage.input, reply.usage.output))


def _draw_failure(rng: Random) -> tuple[int, dict[str, str], bytes]:
    body = bodies((*OPENAI, *ANTHROPIC))(rng)
    if rng.random() < 0.3:
        body += SECRET.encode()
    headers = {
        rng.choice(("Retry-After", "retry-after-ms", "date", "X")): mutate.text(rng, HEADERS, mutate.NUMBERS)
        for _ in range(rng.randrange(4))
    }
    return rng.choice((100, 301, 400, 401, 402, 403, 408, 409, 422, 429, 500, 503, 529, 600)), headers, body


def _feed_failure(given: tuple[int, dict[str, str], bytes]) -> None:
    status, headers, body = given
    error = from_status(status, headers, body, who="m", secrets=(SECRET,))
    assert isinstance(error, ModelError)
    assert SECRET not in str(error), "the message repeats a key"
    assert len(str(error).splitlines()) == 1
    wish = retry_after(headers)
    assert wish is None or 0 <= wish < float("inf")


RESPONSES = (
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: keep-alive\r\n\r\n{  }",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\n{ \r\n2\r\n }\r\n0\r\nA: b\r\n\r\n",
    "HTTP/1.0 429 Slow\r\nRetry-After: 2\r\n\r\nslow down",
    "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 204 None\r\n\r\n",
)
PIECES = (
    "\r\n",
    "\r\n\r\n",
    ": ",
    "Content-Length: 4",
    "Transfer-Encoding: chunked",
    "Content-Encoding: gzip",
    "0",
    "FF",
)


def _draw_response(rng: Random) -> list[bytes]:
    data = mutate.text(rng, RESPONSES, PIECES).encode("latin-1", "replace")
    places = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(5)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True) if a < b]


def _feed_response(pieces: list[bytes]) -> None:
    """The same bytes are the same response in pieces and at once."""
    assert _responses(pieces) == _responses([b"".join(pieces)])


def _responses(pieces: list[bytes]) -> object:
    reader = ResponseReader()
    try:
        for piece in pieces:
            if (found := reader.feed(piece)) is not None:
                return found[:3]
        found = reader.end()
        return found and found[:3]
    except InvalidResponse:
        return "refused"


TARGETS = (
    Target("reply: HTTP", 100_000, _draw_response, _feed_response),
    Target("reply: OpenAI wire", 100_000, bodies(OPENAI), _feed_openai),
    Target("reply: OpenAI completions", 40_000, bodies(COMPLETION), _feed_openai),
    Target("reply: batches", 60_000, bodies(BATCHES, BATCH_KEYS), _feed_batches),
    Target("reply: Anthropic wire", 60_000, bodies(ANTHROPIC), _feed_anthropic),
    Target("reply: failures", 60_000, _draw_failure, _feed_failure),
)
