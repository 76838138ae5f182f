"""Reasoning kept apart from the answer: what a model thought is data of its own, never part of the text."""

from __future__ import annotations

from ostrom.models.base import ReasoningKind

OPEN, SHUT = "<think>", "</think>"


def split_thinking(text: str) -> tuple[str, str | None]:
    """Take a ``<think>`` block at the start off the text: (answer, reasoning or None).

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
        thought, shut, answer = body[len(OPEN) :].partition(SHUT)
        return (answer.lstrip() if shut else ""), thought.strip()
    before, shut, answer = text.partition(SHUT)
    if shut and OPEN not in before:
        return answer.lstrip(), before.strip()
    return text, None


def of_message(message: dict[str, object]) -> tuple[str | None, ReasoningKind]:
    """The reasoning that an OpenAI-compatible server put into fields of its own.

    >>> of_message({"reasoning_content": "hm"})
    ('hm', 'raw')
    >>> of_message({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]})
    ('hm', 'summary')
    """
    for name in ("reasoning_content", "reasoning"):
        text = message.get(name)
        if text and isinstance(text, str):
            return text, "summary" if _is_summary(message.get("reasoning_details")) else "raw"
    return None, "none"


def _is_summary(details: object) -> bool:
    return isinstance(details, list) and any(
        isinstance(d, dict) and d.get("type") == "reasoning.summary" for d in details
    )
