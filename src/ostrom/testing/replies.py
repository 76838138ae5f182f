"""What the test server writes: a deterministic answer in the form that the prompt or the request wants.

Words stand for tokens. A server may have a prompt cache: prompts that begin alike are read from it.
"""

import hashlib
import re
import zlib
from collections.abc import Sequence
from typing import Any

import orjson

_BRACKETED = re.compile(r"\[([^\[\]\n]{1,60})\]")
_QUOTED = re.compile(r'"([^"\n]{1,60})"')
_PLAIN = re.compile(r"nothing else: (.+?)\.?\s*$", re.S)
_TEXT = re.compile(r'"([^"\n]{1,60})"[^"\n]*?\ba text\b')
_ONE_OF = re.compile(r'"([^"\n]{1,60})"[^"\n]*?\bone of ((?:"[^"\n]{1,60}"(?:, | or )?)+)')
_FROM_TO = re.compile(r'"([^"\n]{1,60})"[^"\n]*?\bnumber from (-?[0-9][0-9.]*) to (-?[0-9]+(?:\.[0-9]+)?)')
_GRAMMAR = re.compile(r'"((?:[^"\\]|\\.)*)"')


def answer(body: dict[str, Any]) -> str:
    """The text of the reply to a chat body: constraint first, then the form named in the last paragraph.

    >>> answer({"messages": [{"role": "user", "content": "Rules.\\n\\nValid answers: [A0] or [A1]."}]})
    '[A0]'
    >>> asked = 'One JSON object. It has one key, "message": your message, a text of at most 9 characters.'
    >>> answer({"messages": [{"role": "user", "content": asked}]})
    '{"message":"Noted."}'
    """
    prompt = prompt_of(body)
    draw = zlib.crc32(orjson.dumps(body.get("seed", 0)) + prompt.encode())
    options = _constrained(body)
    if options:
        return options[draw % len(options)]
    schema = schema_of(body)
    if schema is not None:
        return orjson.dumps(instance(schema, draw)).decode()
    last = prompt.rstrip().rpartition("\n\n")[2]
    options = list(dict.fromkeys(_BRACKETED.findall(last))) or list(dict.fromkeys(_BRACKETED.findall(prompt)))
    if "JSON" in last and (texts := _TEXT.findall(last)):
        return _record(texts, last, draw)
    if "JSON" in last:
        return _mixture(list(dict.fromkeys(_QUOTED.findall(last))), draw)
    plain = _PLAIN.search(last)
    if plain and not _BRACKETED.search(last):
        options = re.split(r" or |, ", plain[1])
        return options[draw % len(options)]
    if not options:
        return "Noted."
    label = f"[{options[draw % len(options)]}]"
    return f"I weigh what each of us would gain.\n{label}" if "First think" in last else label


def prompt_of(body: dict[str, Any]) -> str:
    """The last user message, whatever shape its content has."""
    if "prompt" in body:
        return str(body["prompt"])
    for message in reversed(body.get("messages") or []):
        if message.get("role") == "user":
            return text_of(message.get("content"))
    return ""


def schema_of(body: dict[str, Any]) -> dict[str, Any] | None:
    """The JSON schema that the request holds the reply to, on either wire."""
    for place in (body.get("response_format"), (body.get("output_config") or {}).get("format")):
        if isinstance(place, dict) and place.get("type") == "json_schema":
            schema: dict[str, Any] = (place.get("json_schema") or place)["schema"]
            return schema
    return None


def instance(schema: dict[str, Any], draw: int) -> Any:
    """Some value that satisfies a plain JSON schema (enum, bounds, properties, items).

    >>> instance({"type": "object", "properties": {"x": {"type": "integer", "minimum": 3}}}, 0)
    {'x': 3}
    """
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][draw % len(schema["enum"])]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object" or "properties" in schema:
        items = schema.get("properties", {}).items()
        return {name: instance(part, draw // (n + 1)) for n, (name, part) in enumerate(items)}
    if kind == "array":
        return [instance(schema.get("items", {}), draw + n) for n in range(schema.get("minItems", 1))]
    if kind in ("integer", "number"):
        low = schema.get("minimum", 0)
        high = schema.get("maximum", low + 10)
        return low + draw % (int(high - low) + 1)
    return {"boolean": draw % 2 == 0, "null": None}.get(str(kind), "Noted.")


def _constrained(body: dict[str, Any]) -> Sequence[str]:
    choices = (body.get("structured_outputs") or {}).get("choice") or body.get("guided_choice")
    if choices:
        return list(choices)
    # Only grammars that list plain texts: root ::= "a" | "b".
    return [re.sub(r"\\(.)", r"\1", text) for text in _GRAMMAR.findall(body.get("grammar") or "")]


def _record(texts: Sequence[str], asked: str, draw: int) -> str:
    """An object with a text at each of these keys, and one of the names, or of the bounds, that are told for a key.

    >>> _record(["why"], 'Keys: "action", a whole number from 0 to 10, and "why", a text.', 1)
    '{"action":10,"why":"Noted."}'
    """
    picked: dict[str, list[Any]] = {key: _QUOTED.findall(names) for key, names in _ONE_OF.findall(asked)}
    picked |= {key: [orjson.loads(low), orjson.loads(high)] for key, low, high in _FROM_TO.findall(asked)}
    chosen = {key: values[draw % len(values)] for key, values in picked.items()}
    return orjson.dumps(chosen | dict.fromkeys(texts, "Noted.")).decode()


def _mixture(keys: list[str], draw: int) -> str:
    """Whole percentages that sum to 100."""
    if not keys:
        return "{}"
    shares = [100 // len(keys)] * len(keys)
    shift = draw % (shares[0] + 1)
    shares[0] -= shift
    shares[-1] += 100 - sum(shares)
    return orjson.dumps(dict(zip(keys, shares, strict=True))).decode()


def openai_document(body: dict[str, Any], text: str, finish: str = "stop") -> dict[str, Any]:
    """A chat completion in the shape of the OpenAI wire; words stand for tokens."""
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": finish,
    }
    if body.get("logprobs"):
        choice["logprobs"] = {"content": [_first_token(text, int(body.get("top_logprobs") or 0))]}
    words = sum(str(message.get("content")).count(" ") + 1 for message in body.get("messages") or [])
    written = text.count(" ") + 1 if text else 0
    return {
        "id": f"chatcmpl-{zlib.crc32(text.encode()):08x}",
        "object": "chat.completion",
        "model": body.get("model"),
        "choices": [choice],
        "usage": {"prompt_tokens": words, "completion_tokens": written, "total_tokens": words + written},
    }


def completion_document(body: dict[str, Any], text: str, finish: str = "stop") -> dict[str, Any]:
    """A completion of one text in the shape of the older OpenAI wire."""
    choice: dict[str, Any] = {"index": 0, "text": text, "finish_reason": finish}
    if body.get("logprobs"):
        told = _first_token(text, int(body["logprobs"]))["top_logprobs"]
        choice["logprobs"] = {"top_logprobs": [{entry["token"]: entry["logprob"] for entry in told}]}
    words, written = str(body["prompt"]).count(" ") + 1, text.count(" ") + 1 if text else 0
    return {
        "id": f"cmpl-{zlib.crc32(text.encode()):08x}",
        "object": "text_completion",
        "model": body.get("model"),
        "choices": [choice],
        "usage": {"prompt_tokens": words, "completion_tokens": written, "total_tokens": words + written},
    }


def anthropic_document(body: dict[str, Any], text: str, finish: str = "stop") -> dict[str, Any]:
    """A message in the shape of the Anthropic wire."""
    words = sum(text_of(message.get("content")).count(" ") + 1 for message in body.get("messages") or [])
    return {
        "id": f"msg_{zlib.crc32(text.encode()):08x}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [{"type": "text", "text": text}],
        "stop_reason": "max_tokens" if finish == "length" else "end_turn",
        "usage": {"input_tokens": words, "output_tokens": text.count(" ") + 1 if text else 0},
    }


def _first_token(text: str, top: int) -> dict[str, Any]:
    token = text.split(" ")[0]
    others = [{"token": f"~{n}", "logprob": -2.0 - n} for n in range(1, top)]
    return {
        "token": token,
        "logprob": -0.2,
        "top_logprobs": [{"token": token, "logprob": -0.2}, *others][:top],
    }


class PromptCache:
    """The prompt cache of a test server: a set of hashes of prompt prefixes that end with a whole message.

    On the OpenAI wire every prompt is cached. On the Anthropic wire a prompt is cached up to its last
    message with a ``cache_control`` mark, and read from the cache up to the longest prefix cached before.
    """

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def usage(self, body: dict[str, Any]) -> dict[str, int]:
        """Tokens of a prompt that were read from the cache and, on the Anthropic wire, those written into it."""
        read = counted = marked = 0
        digest, keep, found = hashlib.blake2b(digest_size=16), list[bytes](), False
        messages = body.get("messages") or []
        parts = [message.get("content") for message in messages]
        marks = [isinstance(of, list) and any("cache_control" in part for part in of) for of in parts]
        last_mark = max((place for place, mark in enumerate(marks) if mark), default=-1)
        anthropic = "system" in body or last_mark >= 0
        for place, message in enumerate(messages):
            text = text_of(message.get("content"))
            digest.update(orjson.dumps([message.get("role"), text]))
            counted += text.count(" ") + 1
            if digest.digest() in self._known:
                read, found = counted, True
            if not anthropic or place <= last_mark:
                keep.append(digest.digest())
                marked = counted
        self._known.update(keep)
        if last_mark < 0:
            return {"read": 0 if anthropic or not found else read, "written": 0}
        return {"read": min(read, marked), "written": marked - min(read, marked)}


def text_of(content: Any) -> str:
    """The text of a message, whatever shape its content has."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content)


def with_cache(usage: dict[str, Any], cached: dict[str, int], anthropic: bool) -> dict[str, Any]:
    """The usage of a reply with what the cache had; the Anthropic wire counts that apart from other tokens."""
    if not cached:
        return usage
    if anthropic:
        fresh = usage["input_tokens"] - cached["read"] - cached["written"]
        return {
            **usage,
            "input_tokens": fresh,
            "cache_read_input_tokens": cached["read"],
            "cache_creation_input_tokens": cached["written"],
        }
    return {**usage, "prompt_tokens_details": {"cached_tokens": cached["read"]}}
