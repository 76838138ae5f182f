"""A bare word that is the name of a model: how to write it."""

from __future__ import annotations

import re

_FAMILIES = (
    (r"gpt-|chatgpt|o\d(-|$)|davinci", "openai"),
    (r"claude", "anthropic"),
    (r"gemini", "google"),
    (r"mistral|mixtral|ministral|codestral|magistral", "mistral"),
    (r"deepseek", "deepseek"),
    (r"grok", "xai"),
    (r"kimi|moonshot", "moonshot"),
    (r"smollm2-135m$|qwen2\.5-coder-1\.5b$", "embedded"),
    (
        r"(meta-)?llama|qwen|qwq|gemma|phi-?\d|smollm|olmo|falcon|yi-|glm|command-|granite|nemotron|vicuna",
        "vllm",
    ),
)


def full_name(word: str) -> str | None:
    """The whole name of a model that was written without its provider, or None where it looks like no model.

    >>> full_name("gpt-4o"), full_name("Qwen2.5-7B-Instruct"), full_name("tit_for_tat")
    ('openai/gpt-4o', 'vllm/Qwen2.5-7B-Instruct', None)
    >>> full_name("embedded")
    'embedded/smollm2-135m'
    """
    if word.strip("/").lower() == "embedded":
        return "embedded/smollm2-135m"
    for pattern, provider in _FAMILIES:
        if re.match(pattern, word, re.I):
            return f"{provider}/{word}"
    return None
