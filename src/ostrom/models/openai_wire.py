"""The OpenAI chat protocol as pure functions: requests to JSON bytes, JSON bytes to replies.

Reasoning is kept apart from the answer: what a model thought is data of its own, never part of the text.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from ostrom.ground.errors import MalformedReply, RequestRefused
from ostrom.models.asking import put_params, token_count, tool_calls, tool_turn
from ostrom.models.base import Finish, Message, ReasoningKind, Reply, Request, Usage
from ostrom.models.dialects import Dialect
from ostrom.models.failures import from_error_object, in_text, one_line

PARAMS = ("temperature", "top_p", "max_tokens", "seed", "stop", "reasoning_effort", "extra")
_REASONING_MODEL = re.compile(r"(o\d|gpt-5)(?!.*chat)")
_FINISH: dict[str | None, Finish] = {
    "stop": "stop", "eos": "stop", "end_turn": "stop", "stop_sequence": "stop",
    "length": "length", "max_tokens": "length", "model_length": "length",
    "content_filter": "filter",
}  # fmt: skip


def is_reasoning_model(model: str) -> bool:
    """Whether OpenAI's own server treats this model as one that reasons before it writes.

    >>> [is_reasoning_model(m) for m in ("o3-mini", "gpt-5-nano", "gpt-5-chat-latest", "gpt-4o-mini")]
    [True, True, False, False]
    """
    return _REASONING_MODEL.match(model) is not None


@lru_cache
def _words(token_word: str, seed: str) -> Mapping[str, str]:
    """Return the server's words for the parameters of a call."""
    return {
        "temperature": "temperature", "top_p": "top_p", "stop": "stop", "reasoning_effort": "reasoning_effort",
        "max_tokens": token_word, "seed": seed,
    }  # fmt: skip


def encode(request: Request, model: str, dialect: Dialect, token_word: str = "max_tokens") -> bytes:
    """Encode one chat call. Its abilities have been checked before."""
    chat = dialect.endpoint == "chat"
    body: dict[str, Any] = {"model": model}
    if not chat:
        body["prompt"] = as_one_text(request)
    elif request.tools:
        body["messages"] = _with_tools(request.messages)
    else:  # orjson writes plain dicts faster than dataclasses with slots
        body["messages"] = [{"role": m.role, "content": m.content} for m in request.messages]
    put_params(body, request.params, _words(token_word, dialect.seed), PARAMS)
    if request.top_logprobs:
        most = min(request.top_logprobs, dialect.most_logprobs)
        body |= {"logprobs": True, "top_logprobs": most} if chat else {"logprobs": most}
    constraint = request.constraint
    if constraint is not None and constraint.choices is not None:
        match dialect.choices:
            case "structured_outputs":
                body["structured_outputs"] = {"choice": list(constraint.choices)}
            case "guided_choice":
                body["guided_choice"] = list(constraint.choices)
            case "grammar":
                body["grammar"] = choice_grammar(constraint.choices)
    if constraint is not None and constraint.schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": constraint.name, "schema": constraint.schema, "strict": True},
        }
    if request.tools:
        body["tools"] = [
            {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.schema}}
            for t in request.tools
        ]
    if request.messages and (last := request.messages[-1]).role == "assistant":
        if dialect.prefill == "continue":
            body |= {"add_generation_prompt": False, "continue_final_message": True}
        elif dialect.prefill == "prefix":
            body["messages"] = [*request.messages[:-1], {"role": last.role, "content": last.content, "prefix": True}]
    try:
        return orjson.dumps(body)
    except (TypeError, ValueError) as error:
        raise RequestRefused(f"the request cannot be written as JSON: {one_line(str(error))}") from None


def _with_tools(messages: Iterable[Message]) -> list[Any]:
    """Return the messages with tool calls and results in the form of the protocol."""
    sent: list[Any] = []
    for message in messages:
        if message.role == "call":
            turn = orjson.loads(message.content)
            calls = [
                {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
                for c in turn["calls"]
            ]
            sent.append({"role": "assistant", "content": turn["text"] or None, "tool_calls": calls})
        elif message.role == "tool":
            result = orjson.loads(message.content)
            sent.append({"role": "tool", "tool_call_id": result["id"], "content": result["result"]})
        else:
            sent.append(message)
    return sent


def as_one_text(request: Request) -> str:
    """Return the messages as one text to be continued; a prefill is on its own line.

    >>> from ostrom.models.base import Message
    >>> as_one_text(Request((Message("user", "Q: J or F?"), Message("assistant", "A: Option"))))
    'Q: J or F?\\nA: Option'
    """
    *earlier, last = request.messages
    preamble = "\n\n".join(message.content for message in earlier)
    between = "" if not earlier else "\n" if last.role == "assistant" else "\n\n"
    return f"{preamble}{between}{last.content}"


def decode(data: bytes, request: Request, *, who: str, secrets: tuple[str, ...] = ()) -> Reply:
    """Decode the reply to one chat call; unexpected content raises a ModelError."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise MalformedReply(f"{who} sent no JSON: {_excerpt(data, secrets)}") from None
    return read(document, request, who=who, secrets=secrets)


def read(document: object, request: Request, *, who: str, secrets: tuple[str, ...] = ()) -> Reply:
    """Read the reply from the parsed document."""
    if type(document) is not dict:
        raise MalformedReply(f"{who} sent JSON that is not an object")
    if document.get("error"):
        raise from_error_object(document["error"], who=who, secrets=secrets)
    try:
        choice = document["choices"][0]
        message = {"content": choice["text"]} if "message" not in choice else choice["message"]
        content = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise MalformedReply(
            f"{who} sent a reply without choices[0].message: {_excerpt(in_text(document).encode(), secrets)}"
        ) from None
    if choice.get("error"):
        raise from_error_object(choice["error"], who=who, secrets=secrets)
    called = message.get("tool_calls") if request.tools else None
    text, reasoning, kind = _text_of("" if content is None and called else content, message, who)
    facts: dict[str, Any] = {}
    finish = _FINISH.get(_text(choice.get("finish_reason")), "other")
    if message.get("refusal"):
        finish, facts["refusal"] = "filter", in_text(message["refusal"])
        text = text or facts["refusal"]
    elif called:
        text, finish = tool_turn(text, tool_calls(_called(called, who), who)).content, "tools"
    if fingerprint := _text(document.get("system_fingerprint")):
        facts["fingerprint"] = fingerprint
    if request.messages and request.messages[-1].role == "assistant":
        text = text.removeprefix(request.messages[-1].content)
    return Reply(
        text=text,
        reasoning=reasoning,
        reasoning_kind=kind,
        finish=finish,
        usage=_usage(document.get("usage"), document.get("timings")),
        logprobs=_first_token(choice.get("logprobs"), who) if request.top_logprobs else None,
        model=_text(document.get("model")),
        id=_text(document.get("id")),
        facts=facts,
    )


def _called(calls: object, who: str) -> Iterator[tuple[object, object, object]]:
    if not isinstance(calls, list):
        raise MalformedReply(f"{who} sent calls of tools that are no list")
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            raise MalformedReply(f"{who} sent a call of a tool without a function")
        yield call.get("id"), function.get("name"), function.get("arguments") or "{}"


def _text_of(content: object, message: dict[str, Any], who: str) -> tuple[str, str | None, ReasoningKind]:
    """Return text, reasoning and its kind, from any shape of message."""
    reasoning, kind = of_message(message)
    if type(content) is str:
        text = content
    elif content is None and message.get("tool_calls"):
        raise MalformedReply(f"{who} called a tool instead of writing")
    elif content is None:
        text = ""
    elif type(content) is list:
        text = "".join(_parts(content, "text"))
        if reasoning is None and (thought := "".join(_parts(content, "thinking"))):
            reasoning, kind = thought, "raw"
    else:
        raise MalformedReply(f"{who} sent content that is not text but {type(content).__name__}")
    if reasoning is None:
        text, reasoning = split_thinking(text)
        kind = "raw" if reasoning is not None else "none"
    return text, reasoning, kind


def _parts(content: list[Any], kind: str) -> list[str]:
    """Return the texts of content parts of one kind; a thinking part may hold a list of text parts."""
    texts: list[str] = []
    for inner in (part.get(kind) for part in content if isinstance(part, dict) and part.get("type") == kind):
        texts += _parts(inner, "text") if isinstance(inner, list) else [inner] if isinstance(inner, str) else []
    return texts


def _usage(usage: object, timings: object = None) -> Usage:
    if type(usage) is not dict:
        return Usage()
    get = usage.get
    # DeepSeek has its own field for cached tokens.
    cached, written, thought = get("prompt_cache_hit_tokens"), None, None
    if type(prompt := get("prompt_tokens_details")) is dict:
        cached, written = prompt.get("cached_tokens", cached), prompt.get("cache_write_tokens")
    elif type(timings) is dict and type(read_anew := timings.get("prompt_n")) is int:
        # llama-server before late 2025 reports how many prompt tokens it had to read.
        cached = (token_count(get("prompt_tokens")) or 0) - read_anew
    if type(completion := get("completion_tokens_details")) is dict:
        thought = completion.get("reasoning_tokens")
    return Usage(
        token_count(get("prompt_tokens")),
        token_count(get("completion_tokens")),
        None if cached is None else token_count(cached),
        None if thought is None else token_count(thought),
        None if written is None else token_count(written),
    )


def _first_token(logprobs: object, who: str) -> Mapping[str, float]:
    """Return alternatives of the first token; two tokens with equal text are merged."""
    try:
        if isinstance(logprobs, dict) and "content" not in logprobs:  # a completion has them as a mapping
            top = [{"token": t, "logprob": v} for of in logprobs["top_logprobs"][:1] for t, v in of.items()]
        else:
            tokens = logprobs["content"]  # type: ignore[index]
            top = tokens[0]["top_logprobs"] if tokens else []
        alternatives: dict[str, float] = {}
        for entry in top:
            token, value = entry["token"], entry["logprob"]
            if type(token) is not str or type(value) not in (int, float) or not value <= 0:
                raise TypeError
            odds = float(value)
            alternatives[token] = _log_sum(alternatives[token], odds) if token in alternatives else odds
    except (LookupError, TypeError, ValueError, AttributeError):
        # Asking again would not help: this server does not report them.
        raise RequestRefused(f"{who} gives no log-probabilities", status=200) from None
    return alternatives


def _log_sum(a: float, b: float) -> float:
    high, low = max(a, b), min(a, b)
    return high + math.log1p(math.exp(low - high)) if math.isfinite(high) else high


def _text(value: object) -> str | None:
    return value if type(value) is str else None


def _excerpt(data: bytes, secrets: tuple[str, ...]) -> str:
    text = one_line(data.decode("utf-8", "replace"), secrets)
    return repr(text[:80]) if text else "an empty body"


OPEN, SHUT = "<think>", "</think>"


def split_thinking(text: str) -> tuple[str, str | None]:
    """Split a leading ``<think>`` block off the text: (answer, reasoning or None).

    Some chat templates open the block themselves, so the text may begin inside it. A block that never
    ends was cut: all of it is reasoning and there is no answer.

    >>> split_thinking("<think>hm</think>\\n[A0]")
    ('[A0]', 'hm')
    >>> split_thinking("hm</think>[A0]")
    ('[A0]', 'hm')
    >>> split_thinking("<think>hm, [A0] or")
    ('', 'hm, [A0] or')
    >>> split_thinking("I think [A0]")
    ('I think [A0]', None)
    """
    if SHUT not in text and OPEN not in text:
        return text, None
    body = text.lstrip()
    if body.startswith(OPEN):
        thought, _, answer = body.removeprefix(OPEN).partition(SHUT)
        return answer.lstrip(), thought.strip()
    before, shut, answer = text.partition(SHUT)
    return (answer.lstrip(), before.strip()) if shut and OPEN not in before else (text, None)


def of_message(message: dict[str, object]) -> tuple[str | None, ReasoningKind]:
    """Return the reasoning in separate fields of an OpenAI-compatible server.

    >>> of_message({"reasoning_content": "hm"})
    ('hm', 'raw')
    >>> of_message({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]})
    ('hm', 'summary')
    """
    for name in ("reasoning_content", "reasoning"):
        if (text := message.get(name)) and isinstance(text, str):
            details = message.get("reasoning_details")
            parts = [part for part in details if isinstance(part, dict)] if isinstance(details, list) else []
            return text, "summary" if any(part.get("type") == "reasoning.summary" for part in parts) else "raw"
    return None, "none"


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def choice_grammar(choices: Iterable[str]) -> str:
    r"""Return a grammar that allows only the choices.

    >>> choice_grammar(["[A0]", 'say "no"'])
    'root ::= "[A0]" | "say \\"no\\""'
    """
    return "root ::= " + " | ".join(f'"{_escaped(choice)}"' for choice in choices)


def _escaped(text: str) -> str:
    return "".join(
        _ESCAPES.get(c) or (c if c.isprintable() else f"\\x{ord(c):02X}" if ord(c) < 256 else c) for c in text
    )
