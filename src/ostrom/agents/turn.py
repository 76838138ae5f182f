"""One turn of a dialogue, as it is journaled with the answer that it led to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ostrom.answers import Answer

KEY = "turn"
"""Where the facts of an answer hold its turn."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What was asked and what was replied. Its result is no part of it: memory decides whether that is told."""

    nth: int
    """How many turns the dialogue had before."""
    bout: int
    """Which of several meetings within the match it belongs to; each has its own rounds, and its own chat."""
    round: int
    asked: str
    """The question as it stays in later chats: without what it told about earlier rounds."""
    said: str
    """The reply as it was written."""
    answer: str
    """The answer alone, as it stood in the reply."""
    told: str | None = None
    """The question as it was asked, where it told more than what stays."""
    heard: Sequence[Sequence[int]] = ()
    """The messages that it quoted, by their round and their place in it."""


def with_turn(answer: Answer, turn: Turn) -> Answer:
    """The answer with its turn among its facts."""
    return replace(answer, facts={**(answer.facts or {}), KEY: asdict(turn)})


def turn_of(answer: Answer) -> Turn | None:
    """The turn that led to an answer; None where it was given outside of a dialogue."""
    data: Mapping[str, Any] | None = (answer.facts or {}).get(KEY)
    return None if data is None else Turn(**data)
