"""Anthropic's service, or any server that speaks its wire at ANTHROPIC_BASE_URL: messages and their batches."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any, Literal

import orjson

from ostrom.ground.errors import AccessRefused, MalformedReply, RequestRefused, UsageError
from ostrom.models.asking import (
    arguments_of,
    as_list,
    at_least_one,
    positive,
    put_params,
    refuse_beyond,
    token_count,
    tool_calls,
    tool_turn,
)
from ostrom.models.base import Abilities, Finish, Message, Reply, Request, Usage
from ostrom.models.batches import (
    BATCH_TIMEOUT,
    BatchEndpoint,
    BatchLimits,
    BatchRequest,
    BatchStatus,
    ResultLine,
    Wanted,
    count,
    identifier,
)
from ostrom.models.failures import from_error_object, in_text, make, message_in, one_line
from ostrom.models.grants import ANTHROPIC_HOME, key_for
from ostrom.models.services import checked_url, first_set, origin
from ostrom.models.transport import HttpModel, Transport

STATUS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500,
    "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip
"""The HTTP status of each type of error in a batch."""


class AnthropicBatches(BatchEndpoint):
    """The batch endpoint at one address: requests are sent with the batch, results are one file.

    The rules are those of the published reference (Message Batches API): at most 100,000 requests and 256 MB a batch,
    24 hours, results in any order. Requests that failed, expired or were cancelled are not charged. A batch carries no
    mark of its own: it is recognised by its size and time, and for certain by the identifiers in its results.
    """

    limits = BatchLimits(100_000, 256_000_000)
    root = "/batches"
    after = "after_id"

    def read(self, line: ResultLine, request: Request) -> Reply:
        """The reply in a line of results."""
        who, secrets = self.who, self.transport.secrets
        if line.kind == "error":
            text = one_line(message_in({"error": line.document}, b""), secrets)
            code = line.document.get("type") if isinstance(line.document, dict) else None
            raise make(line.status, who, text, code=in_text(code) if code else None)
        return self.transport.redactor.clean_reply(read(line.document, request, who=who, secrets=secrets))

    async def upload(self, marker: str, requests: Sequence[BatchRequest]) -> None:
        """Do nothing: requests go with the batch itself."""

    async def create(self, marker: str, file: str | None, requests: Sequence[BatchRequest]) -> BatchStatus:  # noqa: ARG002
        """Send the requests as one batch."""
        return self._status(
            await self.json(
                "POST",
                self.root,
                orjson.dumps({"requests": [{"custom_id": r.id, "params": orjson.Fragment(r.body)} for r in requests]}),
            )
        )

    def is_ours(self, batch: BatchStatus, wanted: Wanted) -> bool:
        """Return whether a batch has the wanted size, and is not older than the batches that were there before."""
        recent = wanted.since is None or batch.created is None or batch.created >= wanted.since
        return recent and batch.total in (None, wanted.requests)

    async def results(self, batch: BatchStatus, output: str) -> list[ResultLine]:
        """The lines of the results."""
        return [_line(entry) for entry in await self.lines(f"{self.root}/{output}/results", batch.total)]

    def _status(self, document: dict[str, Any]) -> BatchStatus:
        if not isinstance(how := document.get("processing_status"), str):
            raise MalformedReply(f"{self.who} sent a batch without a processing_status")
        how, name = self.transport.redactor.clean(how), identifier(document, self.who)
        counts = document.get("request_counts")
        numbers = {key: count(number) for key, number in counts.items()} if isinstance(counts, dict) else None
        ended = (
            None if numbers is None else [numbers.get(key) for key in ("succeeded", "errored", "canceled", "expired")]
        )
        return BatchStatus(
            name,
            how == "ended",
            how,
            None if not numbers or None in numbers.values() else sum(filter(None, numbers.values())),
            None if ended is None else sum(filter(None, ended)),
            None if ended is None else ended[0],
            _time(document.get("created_at")),
            outputs=(name,) if how == "ended" else (),
        )


def _line(entry: dict[str, Any]) -> ResultLine:
    name = entry["custom_id"]
    match entry.get("result"):
        case {"type": "canceled" | "cancelled" | "expired"}:
            return ResultLine(name, "unrun", None)
        case {"type": "succeeded", "message": dict(message)}:
            return ResultLine(name, "reply" if isinstance(message.get("content"), list) else "bad", message)
        # The error may be nested in an error response.
        case {"type": "errored", "error": {"error": dict(error)} | error}:
            return ResultLine(
                name, "error", error, STATUS.get(in_text(error.get("type") if isinstance(error, dict) else None), 500)
            )
        case {"type": "errored"}:
            return ResultLine(name, "error", None, 500)
    return ResultLine(name, "bad", None)


def _time(text: object) -> float | None:
    """Seconds of an RFC 3339 date.

    >>> _time("1970-01-01T00:01:00Z"), _time("soon")
    (60.0, None)
    """
    try:
        moment = datetime.fromisoformat(in_text(text))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


PARAMS = ("temperature", "top_p", "max_tokens", "stop", "seed", "extra")
_WORDS = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_tokens", "stop": "stop_sequences"}
# The API requires max_tokens; this is the default if the study gives none. The manifest records it.
DEFAULT_MAX_TOKENS = 4096
_FINISH: dict[str | None, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filter",
}
_EARLY = re.compile(r"claude-(?:[123](?:-|\.|$)|instant|(?:opus|sonnet|haiku)-4(?:-[015](?:-|$)|-2025|@|$))")
_STRUCTURED = re.compile(r"claude-(?:(?:sonnet|haiku)-4-[5-9]|opus-4-[1-9](?:-|$)|(?:opus|sonnet|haiku)-[5-9])")
_LONG_CACHED = re.compile(r"claude-(?:opus-4-[5-9]|haiku-4-[5-9]|(?:opus|haiku)-[5-9])")
CHARACTERS_PER_TOKEN = 4
"""A high estimate, so that a prompt too short to be cached is never marked for the cache."""


def abilities_of(model: str) -> Abilities:
    """Return a model's abilities: prefill ended with the 4.6 generation; JSON schemas came with Opus 4.1 and 4.5.

    >>> abilities_of("claude-3-5-haiku-20241022").prefill, abilities_of("claude-opus-4-6").prefill
    (True, False)
    >>> abilities_of("claude-sonnet-4-5").schema, abilities_of("claude-sonnet-4-20250514").schema
    (True, False)
    """
    return Abilities(
        prefill=bool(_EARLY.match(model)),
        schema=bool(_STRUCTURED.match(model)),
        tools=not re.match(r"claude-(?:[12]|instant)", model),
    )


def encode(request: Request, model: str) -> bytes:
    """The body of one call; system messages at the start become the system prompt."""
    system = [message.content for message in takewhile(lambda message: message.role == "system", request.messages)]
    messages = [*request.messages[len(system) :]]
    if any(message.role == "system" for message in messages):
        raise RequestRefused("the Anthropic wire knows system messages only before all others")
    if not messages:
        raise RequestRefused("the Anthropic wire needs at least one user message")
    body: dict[str, Any] = {"model": model, "max_tokens": DEFAULT_MAX_TOKENS, "messages": messages}
    if request.tools:
        body["messages"] = messages = _with_tools(messages)
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in request.tools
        ]
    if system:
        body["system"] = "\n\n".join(system)
    lasting = request.lasting - len(system)
    if 0 < lasting <= len(messages) and _pays(request, model):
        body["messages"] = [*messages[: lasting - 1], _marked(messages[lasting - 1]), *messages[lasting:]]
    # This API has no seed; the reply's facts say that it was not used.
    params = {
        name: as_list(value) if name == "stop" else value for name, value in request.params.items() if name != "seed"
    }
    put_params(body, params, _WORDS, PARAMS)
    if request.constraint is not None and request.constraint.schema is not None:
        body["output_config"] = {
            **body.get("output_config", {}),
            "format": {"type": "json_schema", "schema": request.constraint.schema},
        }
    try:
        return orjson.dumps(body)
    except (TypeError, ValueError) as error:
        raise RequestRefused(f"the request cannot be written as JSON: {one_line(str(error))}") from None


def _pays(request: Request, model: str) -> bool:
    """Return whether the lasting part of a prompt is long enough for the cache."""
    return sum(
        len(message.content) for message in request.messages[: request.lasting]
    ) >= CHARACTERS_PER_TOKEN * _least_cached(model)


def _least_cached(model: str) -> int:
    """Return the fewest tokens of a cacheable prompt.

    >>> [_least_cached(m) for m in ("claude-sonnet-4-5", "claude-3-5-haiku-latest", "claude-opus-4-6")]
    [1024, 2048, 4096]
    """
    return 4096 if _LONG_CACHED.search(model) else 2048 if "haiku" in model else 1024


def _marked(message: Message) -> dict[str, Any]:
    """Return a message with a cache mark, up to which the prompt is cached."""
    return {
        "role": message.role,
        "content": [{"type": "text", "text": message.content, "cache_control": {"type": "ephemeral"}}],
    }


def decode(data: bytes, request: Request, *, who: str, secrets: tuple[str, ...] = ()) -> Reply:
    """Read the reply to one call."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        excerpt = one_line(data.decode("utf-8", "replace"), secrets)[:80]
        raise MalformedReply(f"{who} sent no JSON: {excerpt!r}") from None
    return read(document, request, who=who, secrets=secrets)


def read(document: object, request: Request, *, who: str, secrets: tuple[str, ...] = ()) -> Reply:
    """Read the reply from the parsed document."""
    if type(document) is not dict:
        raise MalformedReply(f"{who} sent JSON that is not an object")
    if document.get("error"):
        raise from_error_object(document["error"], who=who, secrets=secrets)
    blocks = document.get("content")
    if type(blocks) is not list or not all(type(block) is dict for block in blocks):
        raise MalformedReply(f"{who} sent a reply without content blocks")
    text = _joined(blocks, "text", who)
    called = [
        (block.get("id"), block.get("name"), block.get("input")) for block in blocks if block.get("type") == "tool_use"
    ]
    thought = _joined(blocks, "thinking", who)
    # Claude 3.7 showed its thinking verbatim; later models show a summary.
    kind: Literal["raw", "summary"] = "raw" if "claude-3-7" in in_text(document.get("model")) else "summary"
    hidden = sum(block.get("type") == "redacted_thinking" for block in blocks)
    if called and not request.tools:
        raise MalformedReply(f"{who} called a tool, and none was offered")
    if called:
        text = tool_turn(text, tool_calls(called, who)).content
    if request.messages[-1].role == "assistant":
        text = text.removeprefix(request.messages[-1].content)
    version, identity = document.get("model"), document.get("id")
    return Reply(
        text=text,
        reasoning=thought or None,
        reasoning_kind=kind if thought else "none",
        finish="tools" if called else _FINISH.get(in_text(document.get("stop_reason")), "other"),
        usage=_usage(document.get("usage")),
        model=version if isinstance(version, str) else None,
        id=identity if isinstance(identity, str) else None,
        facts={
            **({"redacted_thinking": hidden} if hidden else {}),
            **({"ignored": ["seed"]} if "seed" in request.params else {}),
        },
    )


def _with_tools(messages: Sequence[Message]) -> list[Any]:
    """Return the messages with tool calls and results as blocks; results of one turn are one message."""
    sent: list[Any] = []
    for message in messages:
        if message.role == "call":
            turn = orjson.loads(message.content)
            text = [{"type": "text", "text": turn["text"]}] if turn["text"] else []
            calls = [
                {
                    "type": "tool_use",
                    "id": call["id"],
                    "name": call["name"],
                    "input": arguments_of(call["arguments"]) or {},
                }
                for call in turn["calls"]
            ]
            sent.append({"role": "assistant", "content": [*text, *calls]})
        elif message.role == "tool":
            result = orjson.loads(message.content)
            block = {"type": "tool_result", "tool_use_id": result["id"], "content": result["result"]}
            if sent and isinstance(sent[-1], dict) and sent[-1]["role"] == "user":
                sent[-1]["content"].append(block)
            else:
                sent.append({"role": "user", "content": [block]})
        else:
            sent.append(message)
    return sent


def _joined(blocks: list[dict[str, Any]], kind: str, who: str) -> str:
    texts = [block.get(kind) for block in blocks if block.get("type") == kind]
    if not all(isinstance(text, str) for text in texts):
        raise MalformedReply(f"{who} sent a {kind} block without text")
    return "".join(texts)  # type: ignore[arg-type]


def _usage(usage: object) -> Usage:
    if type(usage) is not dict:
        return Usage()
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    fresh, output, cached, written = (token_count(usage.get(name)) for name in names)
    return Usage(
        # The API excludes cached tokens from the prompt here; we count the whole prompt.
        input=None if fresh is None else fresh + (cached or 0) + (written or 0),
        output=output,
        cached=cached,
        kept=written,
    )


VERSION = "2023-06-01"


class AnthropicModel(HttpModel):
    """One model behind the Anthropic wire."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_variable: str | None = None,
        timeout: float = 120.0,
        connections: int = 16,
    ) -> None:
        if not model:
            raise UsageError("anthropic/: no model is named")
        moved = first_set(("ANTHROPIC_BASE_URL",))
        address = checked_url(
            base_url or moved or ANTHROPIC_HOME, source="base_url" if base_url else "ANTHROPIC_BASE_URL"
        )
        self.name = f"anthropic/{model}"
        key = key_for(
            address, filter(None, (ANTHROPIC_HOME, moved)), ("ANTHROPIC_API_KEY",), named=key_variable, who=self.name
        )
        if key is None and origin(address) == origin(ANTHROPIC_HOME):
            raise AccessRefused(f"anthropic/{model}: set the environment variable ANTHROPIC_API_KEY to your key")
        self.connections = at_least_one(connections, "connections")
        self.abilities: Abilities = abilities_of(model)
        self._model, self._base_url = model, address
        self._key, self._timeout = key, positive(timeout, "timeout")
        self._transport = self._reach(self._timeout)

    def _reach(self, timeout: float) -> Transport:
        return Transport(
            # Users write the URL with and without the version; the API needs it once.
            f"{self._base_url.removesuffix('/v1')}/v1/messages",
            {"anthropic-version": VERSION, **({"x-api-key": self._key} if self._key else {})},
            who=self.name,
            timeout=timeout,
            secrets=(self._key,) if self._key else (),
        )

    _decode = staticmethod(decode)

    def _encode(self, request: Request) -> bytes:
        refuse_beyond(self.abilities, request, self.name)
        return encode(request, self._model)

    def batches(self) -> AnthropicBatches:
        """The batch endpoint of the service."""
        return AnthropicBatches(self._reach(min(self._timeout, BATCH_TIMEOUT)), self._encode)

    def describe(self) -> Mapping[str, Any]:
        """Address, model and settings, without the key."""
        return {
            "name": self.name,
            "wire": "anthropic",
            "wire_version": VERSION,
            "model": self._model,
            "base_url": self._base_url,
            "max_tokens_if_unset": DEFAULT_MAX_TOKENS,
            "ignores": ["seed"],
            "abilities": self.abilities.described(),
            "client": {"timeout": self._timeout, "connections": self.connections},
        }


def abilities(name: str, settings: Mapping[str, Any]) -> Abilities:  # noqa: ARG001
    """Return the abilities of a model, by its name."""
    return abilities_of(name.partition("/")[2])


PROVIDER = AnthropicModel
