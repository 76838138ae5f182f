"""A prompt cache as servers have one: prompts that begin alike are read from it. Words stand for tokens."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson


class PromptCache:
    """Remembers the beginnings of prompts, message by message.

    The OpenAI wire keeps every prompt by itself. On the Anthropic wire a prompt is kept up to the message that bears a
    mark, and read back up to any message that was kept before.
    """

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def usage(self, body: dict[str, Any]) -> dict[str, int]:
        """Tokens of a prompt that were read from the cache and, on the Anthropic wire, those written into it."""
        read = counted = marked = 0
        digest, keep, found = hashlib.blake2b(digest_size=16), list[bytes](), False
        last_mark = -1
        messages = body.get("messages") or []
        for place, message in enumerate(messages):
            if isinstance(message.get("content"), list):
                last_mark = (
                    place if any("cache_control" in part for part in message["content"]) else last_mark
                )
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
