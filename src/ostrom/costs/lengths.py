"""How long replies and texts are: what styles usually take, what was measured, and what is possible at most."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ostrom.agents.config import AgentConfig
from ostrom.agents.explained import is_explained
from ostrom.agents.language import styles
from ostrom.answers import Form, Record, Text
from ostrom.answers.forms import TOKENS_PER_WORD, answer_tokens

REASONS = 100
"""Words of usual reasons, where so many are allowed; printed ones (Manoranjan & Gaikwad 2026, F.1) have 40 to 153."""
CHARACTERS_PER_TOKEN = 3.5
"""A low value, so that the bound on tokens holds for the tokenisers in use."""


def reply_of(config: AgentConfig, form: Form) -> tuple[int, int | None]:
    """Tokens of a usual reply to a question, and of the longest one that is possible."""
    style, allowed = styles.build(config.style), config.params.get("max_tokens")
    most = style.most_tokens(form, None if allowed is None else int(allowed))
    answer = answer_tokens(form)
    words = min(REASONS, config.framing.words or REASONS)
    if is_explained(form):
        answer += round(TOKENS_PER_WORD * words)
    likely = style.likely_tokens(answer, words)
    return (likely, None) if most is None else (min(likely, most), most)


@dataclass(frozen=True, slots=True)
class Lengths:
    """Measured lengths: tokens of an agent's reply to a part of a question, characters of texts by form."""

    reply: Callable[[AgentConfig, str], float | None] = lambda config, part: None  # noqa: ARG005
    texts: Mapping[str, float] = field(default_factory=dict)


def part_name(part: str) -> str:
    """The part of a decision that a call asks for, whichever try it is.

    >>> part_name("note.try1"), part_name("try0.after1")
    ('note', '')
    """
    return part.partition("try")[0].rstrip(".")


def text_name(form: Form) -> str:
    """What texts are told apart by that players write in answers of a form."""
    return form.name if isinstance(form, Record) else type(form).__name__


def text_lengths(form: Form, value: Any) -> list[int]:
    """Characters of every text that a player wrote in an answer.

    >>> from ostrom.answers import Choice
    >>> text_lengths(Text(), "So be it."), text_lengths(Choice(("C", "D")), "C")
    ([9], [])
    """
    if isinstance(form, Text):
        return [len(str(value))]
    if not isinstance(form, Record) or not isinstance(value, Mapping):
        return []
    parts = form.schema.get("properties", {})
    return [len(str(value[name])) for name, part in parts.items() if name in value and is_free(part)]


def is_free(part: Mapping[str, Any]) -> bool:
    """Whether a part of a record is a text in words of the player."""
    return part.get("type") == "string" and "enum" not in part
