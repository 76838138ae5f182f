"""What the published references allow in a request; everything else is refused with a reason."""

from __future__ import annotations

import json
import re
from typing import Any

Document = dict[str, Any]
CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CHAT = {
    "model", "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop", "n",
    "reasoning_effort", "logprobs", "top_logprobs", "response_format", "metadata", "store", "user", "tools",
    "tool_choice", "frequency_penalty", "presence_penalty", "logit_bias", "service_tier", "verbosity",
}  # fmt: skip
MESSAGE = {
    "model", "messages", "max_tokens", "system", "temperature", "top_p", "top_k", "stop_sequences", "metadata",
    "thinking", "tools", "tool_choice", "service_tier", "output_config", "container", "cache_control",
}  # fmt: skip
MOST_LINES, MOST_BYTES = 50_000, 200_000_000
MOST_MESSAGES, MOST_MESSAGE_BYTES = 100_000, 256_000_000


class Refused(Exception):
    """A request that the references do not allow."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def need(held: object, message: str, status: int = 400) -> None:
    """Refuse unless it holds."""
    if not held:
        raise Refused(message, status)


def document(body: bytes) -> Document:
    """The JSON object of a body."""
    try:
        found = json.loads(body)
    except ValueError:
        raise Refused("the body is no JSON") from None
    need(isinstance(found, dict), "the body is no JSON object")
    return dict(found)


def known(found: Document, allowed: set[str], required: set[str], what: str) -> None:
    """Refuse unknown and missing fields."""
    need(not set(found) - allowed, f"{what}: unknown fields {sorted(set(found) - allowed)}")
    need(required <= set(found), f"{what}: missing fields {sorted(required - set(found))}")


def form(kind: str, body: bytes) -> dict[str, tuple[str | None, bytes]]:
    """The parts of a multipart form: file name and content by field name."""
    match = re.fullmatch(r'multipart/form-data; *boundary="?([^";]{1,70})"?', kind)
    need(match, f"the content type is {kind!r} and not multipart/form-data with a boundary")
    assert match is not None
    edge = b"--" + match[1].encode()
    need(body.startswith(edge + b"\r\n") and body.endswith(edge + b"--\r\n"), "the form does not keep its boundary")
    found: dict[str, tuple[str | None, bytes]] = {}
    for part in body[: -len(edge) - 4].split(edge + b"\r\n")[1:]:
        head, gap, content = part.partition(b"\r\n\r\n")
        need(gap and content.endswith(b"\r\n"), "a part of the form has no end")
        name = re.search(rb'form-data; name="([^"]+)"(?:; filename="([^"]+)")?', head)
        assert name is not None
        file = name[2].decode() if name[2] else None
        need(name[1].decode() not in found, "a field stands twice in the form")
        found[name[1].decode()] = (file, content[:-2])
    return found


def chat(body: Document) -> None:
    """A chat completion."""
    known(body, CHAT, {"model", "messages"}, "chat completion")
    _messages(body["messages"], {"system", "developer", "user", "assistant"})


def message(params: Document) -> None:
    """A message of Anthropic's."""
    known(params, MESSAGE, {"model", "messages", "max_tokens"}, "message")
    need(type(params["max_tokens"]) is int and params["max_tokens"] >= 1, "max_tokens is no positive integer")
    _messages(params["messages"], {"user", "assistant"})


def _messages(found: object, roles: set[str]) -> None:
    need(isinstance(found, list) and found, "messages is no list")
    assert isinstance(found, list)
    for entry in found:
        need(isinstance(entry, dict) and set(entry) == {"role", "content"}, "a message has other fields")
        need(entry["role"] in roles and entry["content"], f"a message of {entry['role']!r} has no content")


def input_file(content: bytes, endpoint: str) -> list[tuple[str, Document]] | list[Document]:
    """The requests of an uploaded file, or what is wrong with its lines as the service reports it."""
    wrong: list[Document] = []
    requests: list[tuple[str, Document]] = []
    seen: set[str] = set()
    models: set[str] = set()
    lines = content.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, 1):
        try:
            entry = document(line)
            known(entry, {"custom_id", "method", "url", "body"}, {"custom_id", "method", "url", "body"}, "line")
            name = entry["custom_id"]
            need(isinstance(name, str) and name and name not in seen, "duplicate_custom_id")
            need(entry["method"] == "POST" and entry["url"] == endpoint, "invalid_url")
            chat(entry["body"])
        except Refused as error:
            wrong.append({"code": str(error), "message": str(error), "param": None, "line": number})
        else:
            seen.add(name)
            models.add(entry["body"]["model"])
            requests.append((name, entry["body"]))
    if len(models) > 1:
        wrong.append({"code": "mismatched_model", "message": "more than one model", "param": None, "line": None})
    if not lines or len(lines) > MOST_LINES or len(content) > MOST_BYTES:
        wrong.append({"code": "invalid_size", "message": f"{len(lines)} lines", "param": None, "line": None})
    return wrong or requests
