"""The loopback server with a prompt cache: prompts that begin alike are read from it."""

import hashlib
from typing import Any

import orjson

from ostrom.testing.replies import text_of
from ostrom.testing.server import LoopbackServer


class PromptCache:
    """The prompt cache of a test server: a set of hashes of prompt prefixes that end with a whole message.

    On the OpenAI wire every prompt is cached. On the Anthropic wire a prompt is cached up to its last
    message with a ``cache_control`` mark, and read from the cache up to the longest prefix cached before.
    """

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def usage(self, body: dict[str, Any]) -> dict[str, int]:
        """Return the tokens read from the cache and, for Anthropic, those written into it."""
        read = counted = marked = 0
        digest, keep, hit = hashlib.blake2b(digest_size=16), list[bytes](), False
        messages = body.get("messages") or []
        parts = [message.get("content") for message in messages]
        marks = [isinstance(of, list) and any("cache_control" in part for part in of) for of in parts]
        last_mark = max((place for place, mark in enumerate(marks) if mark), default=-1)
        anthropic = "system" in body or last_mark >= 0
        for place, message in enumerate(messages):
            text = text_of(message.get("content"))
            digest.update(orjson.dumps([message.get("role"), text]))
            counted += text.count(" ") + 1
            if digest.digest() in self._digests:
                read, hit = counted, True
            if not anthropic or place <= last_mark:
                keep.append(digest.digest())
                marked = counted
        self._digests.update(keep)
        if last_mark < 0:
            return {"read": 0 if anthropic or not hit else read, "written": 0}
        return {"read": min(read, marked), "written": marked - min(read, marked)}


def with_cache(usage: dict[str, Any], cached: dict[str, int], anthropic: bool) -> dict[str, Any]:
    """Return the usage of a reply with cached tokens, which Anthropic counts separately."""
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


class CachingServer(LoopbackServer):
    """A loopback server whose replies state how much of their prompt was cached."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.prompt_cache = PromptCache()

    def document(self, body: dict[str, Any], reply: str, finish: str, *, anthropic: bool) -> dict[str, Any]:
        """The reply with the usage of a cached prompt."""
        cached = self.prompt_cache.usage(body)
        document = super().document(body, reply, finish, anthropic=anthropic)
        return {**document, "usage": with_cache(document["usage"], cached, anthropic)}
