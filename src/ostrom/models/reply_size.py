"""How large the body of a reply may become: it follows what the request asked for.

A body holds at most ``4 MiB + max_tokens x (512 + 256 x top_logprobs)`` bytes, and never more than 256 MiB.
A token takes 4 to 6 bytes of JSON, an alternative with its log-probability about 120: the bound leaves room for
escaped text, hidden reasoning that is not counted, and whatever a service adds.
"""

from __future__ import annotations

from ostrom.models.base import Request

BASE = 4 << 20
BYTES_PER_TOKEN = 512
BYTES_PER_ALTERNATIVE = 256
TOKENS_IF_UNSET = 32_768
LARGEST_BODY = 256 << 20
_BOUNDS = ("max_tokens", "max_completion_tokens")


def largest_body(request: Request) -> int:
    """The most bytes that the body of the reply to this request may have.

    >>> largest_body(Request((), params={"max_tokens": 2000})) == 4 * 2**20 + 2000 * 512
    True
    """
    params, alternatives = request.params, request.top_logprobs
    tokens = _count(params.get("max_tokens")) or TOKENS_IF_UNSET
    if extra := params.get("extra"):
        # What stands here goes into the request as it is, so it may hold another bound than ours.
        tokens = max((n for name in _BOUNDS if (n := _count(extra.get(name)))), default=tokens)
        alternatives = max(alternatives, _count(extra.get("top_logprobs")) or 0)
        tokens *= _count(extra.get("n")) or 1
    return min(LARGEST_BODY, BASE + tokens * (BYTES_PER_TOKEN + BYTES_PER_ALTERNATIVE * alternatives))


def _count(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None
