"""The Anthropic messages wire, both ways and pure."""

from __future__ import annotations

import re
from typing import Any

import orjson

from ostrom.ground.errors import MalformedReply, RequestRefused
from ostrom.models.base import Abilities, Finish, Message, ReasoningKind, Reply, Request, Usage
from ostrom.models.failures import from_error_object, one_line
from ostrom.models.numbers import token_count

PARAMS = ("temperature", "top_p", "max_tokens", "stop", "seed", "extra")
# The API requires max_tokens; this is the default where the study gives none. The manifest records it.
DEFAULT_MAX_TOKENS = 4096
_FINISH: dict[str | None, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filter",
}
_EARLY = re.compile(r"claude-(?:[123](?:-|\.|$)|instant|(?:opus|sonnet|haiku)-4(?:-[015](?:-|$)|-2025|@|$))")
_STRUCTURED = re.compile(
    r"claude-(?:(?:sonnet|haiku)-4-[5-9]|opus-4-[1-9](?:-|$)|(?:opus|sonnet|haiku)-[5-9])"
)
_LONG_CACHED = re.compile(r"claude-(?:opus-4-[5-9]|haiku-4-[5-9]|(?:opus|haiku)-[5-9])")
CHARACTERS_PER_TOKEN = 4
"""Rather many, so that no prompt is marked that is too short to be cached."""


def abilities_of(model: str) -> Abilities:
    """Prefill ended with the 4.6 generation; JSON schemas came with Opus 4.1 and the 4.5 generation.

    >>> abilities_of("claude-3-5-haiku-20241022").prefill, abilities_of("claude-opus-4-6").prefill
    (True, False)
    >>> abilities_of("claude-sonnet-4-5").schema, abilities_of("claude-sonnet-4-20250514").schema
    (True, False)
    """
    return Abilities(prefill=bool(_EARLY.match(model)), schema=bool(_STRUCTURED.match(model)))


def encode(request: Request, model: str) -> bytes:
    """The body of one call; system messages at the start become the system prompt."""
    messages = list(request.messages)
    system = []
    while messages and messages[0].role == "system":
        system.append(messages.pop(0).content)
    if any(message.role == "system" for message in messages):
        raise RequestRefused("the Anthropic wire knows system messages only before all others")
    if not messages:
        raise RequestRefused("the Anthropic wire needs at least one user message")
    body: dict[str, Any] = {"model": model, "max_tokens": DEFAULT_MAX_TOKENS, "messages": messages}
    if system:
        body["system"] = "\n\n".join(system)
    lasting = request.lasting - len(system)
    if 0 < lasting <= len(messages) and _pays(request, model):
        body["messages"] = [*messages[: lasting - 1], _marked(messages[lasting - 1]), *messages[lasting:]]
    for name, value in request.params.items():
        if name in ("temperature", "top_p", "max_tokens"):
            body[name] = value
        elif name == "stop":
            body["stop_sequences"] = [value] if isinstance(value, str) else list(value)
        elif name == "extra":
            body.update(value)
        elif name != "seed":  # this wire has no seed; the reply's facts say that it was not used
            raise RequestRefused(f"unknown model parameter {name!r} (known: {', '.join(PARAMS)})")
    if request.constraint is not None and request.constraint.schema is not None:
        format_ = {"type": "json_schema", "schema": request.constraint.schema}
        body["output_config"] = {**body.get("output_config", {}), "format": format_}
    try:
        return orjson.dumps(body)
    except (TypeError, ValueError) as error:
        raise RequestRefused(f"the request cannot be written as JSON: {one_line(str(error))}") from None


def _pays(request: Request, model: str) -> bool:
    """Whether what lasts of a prompt is long enough for the cache, which takes no shorter one."""
    characters = sum(len(message.content) for message in request.messages[: request.lasting])
    return characters >= CHARACTERS_PER_TOKEN * _least_cached(model)


def _least_cached(model: str) -> int:
    """The tokens that a prompt must have to be cached.

    >>> [_least_cached(m) for m in ("claude-sonnet-4-5", "claude-3-5-haiku-latest", "claude-opus-4-6")]
    [1024, 2048, 4096]
    """
    if _LONG_CACHED.search(model):
        return 4096
    return 2048 if "haiku" in model else 1024


def _marked(message: Message) -> dict[str, Any]:
    """A message after which the prompt is kept in the cache."""
    block = {"type": "text", "text": message.content, "cache_control": {"type": "ephemeral"}}
    return {"role": message.role, "content": [block]}


def decode(data: bytes, request: Request, *, who: str, secrets: tuple[str, ...] = ()) -> Reply:
    """Read the reply to one call."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        shown = one_line(data.decode("utf-8", "replace"), secrets)[:80]
        raise MalformedReply(f"{who} sent no JSON: {shown!r}") from None
    if type(document) is not dict:
        raise MalformedReply(f"{who} sent JSON that is not an object")
    if document.get("error"):
        raise from_error_object(document["error"], who=who, secrets=secrets)
    blocks = document.get("content")
    if type(blocks) is not list or not all(type(block) is dict for block in blocks):
        raise MalformedReply(f"{who} sent a reply without content blocks")
    text = _joined(blocks, "text", who)
    thought = _joined(blocks, "thinking", who)
    kind: ReasoningKind = "none"
    if thought:
        # Claude 3.7 showed its thinking as it was; every later model shows a summary.
        kind = "raw" if "claude-3-7" in str(document.get("model")) else "summary"
    facts: dict[str, Any] = {}
    hidden = sum(block.get("type") == "redacted_thinking" for block in blocks)
    if hidden:
        facts["redacted_thinking"] = hidden
    if "seed" in request.params:
        facts["ignored"] = ["seed"]
    if request.messages[-1].role == "assistant":
        text = text.removeprefix(request.messages[-1].content)
    version, identity = document.get("model"), document.get("id")
    return Reply(
        text=text,
        reasoning=thought or None,
        reasoning_kind=kind,
        finish=_FINISH.get(str(document.get("stop_reason")), "other"),
        usage=_usage(document.get("usage")),
        model=version if isinstance(version, str) else None,
        id=identity if isinstance(identity, str) else None,
        facts=facts,
    )


def _joined(blocks: list[dict[str, Any]], kind: str, who: str) -> str:
    texts = [block.get(kind) for block in blocks if block.get("type") == kind]
    if not all(isinstance(text, str) for text in texts):
        raise MalformedReply(f"{who} sent a {kind} block without text")
    return "".join(texts)  # type: ignore[arg-type]


def _usage(usage: object) -> Usage:
    if type(usage) is not dict:
        return Usage()
    fresh, output = token_count(usage.get("input_tokens")), token_count(usage.get("output_tokens"))
    cached = token_count(usage.get("cache_read_input_tokens"))
    written = token_count(usage.get("cache_creation_input_tokens"))
    return Usage(
        # Here the wire leaves out what came from the cache or went into it; we count the whole prompt.
        input=None if fresh is None else fresh + (cached or 0) + (written or 0),
        output=output,
        cached=cached,
        kept=written,
    )
