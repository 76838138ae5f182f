"""Lengths of replies and texts: usual, measured, and maximal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ostrom.agents.config import AgentConfig
from ostrom.agents.explained import is_explained
from ostrom.agents.language import styles
from ostrom.answers import Form, Record, Text
from ostrom.answers.forms import TOKENS_PER_WORD, answer_tokens

REASONS = 100
"""Words of usual reasons, if as many are allowed; printed ones (Manoranjan & Gaikwad 2026, F.1) have 40 to 153."""
CHARACTERS_PER_TOKEN = 3.5
"""A low value, so that the bound on tokens holds for the tokenisers in use."""


def reply_of(config: AgentConfig, form: Form) -> tuple[int, int | None]:
    """Return the tokens of a usual reply to a question, and of the longest possible one."""
    style, allowed = styles.build(config.style), config.params.get("max_tokens")
    most = style.most_tokens(form, None if allowed is None else int(allowed))
    words = min(REASONS, config.framing.words or REASONS)
    reasons = round(TOKENS_PER_WORD * words) if is_explained(form) else 0
    likely = style.likely_tokens(answer_tokens(form) + reasons, words)
    return (likely, None) if most is None else (min(likely, most), most)


@dataclass(frozen=True, slots=True)
class Lengths:
    """Measured lengths: tokens of replies by agent and part, characters of texts by form."""

    reply: Callable[[AgentConfig, str], float | None] = lambda config, part: None  # noqa: ARG005
    texts: Mapping[str, float] = field(default_factory=dict)


def part_name(part: str) -> str:
    """Return the part of a decision that a call asks for, whichever try.

    >>> part_name("note.try1"), part_name("try0.after1")
    ('note', '')
    """
    return part.partition("try")[0].rstrip(".")


def text_name(form: Form) -> str:
    """Return the name under which texts of a form are measured."""
    return form.name if isinstance(form, Record) else type(form).__name__


def text_lengths(form: Form, value: Any) -> list[int]:
    """Return the characters of every text in an answer.

    >>> from ostrom.answers import Choice
    >>> text_lengths(Text(), "So be it."), text_lengths(Choice(("C", "D")), "C")
    ([9], [])
    """
    if not isinstance(form, Record) or not isinstance(value, Mapping):
        return [len(str(value))] if isinstance(form, Text) else []
    return [
        len(str(value[name]))
        for name, part in form.schema.get("properties", {}).items()
        if name in value and is_free(part)
    ]


def is_free(part: Mapping[str, Any]) -> bool:
    """Return whether a field of a record is free text."""
    return part.get("type") == "string" and "enum" not in part
