"""One line of a corpus: a conversation with its weight and all that is known about where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ostrom.probe.trace import Trace


@dataclass(frozen=True, slots=True)
class Example:
    """A reply to learn, and what it is learnt as the answer to."""

    trace: Trace
    weight: float
    messages: tuple[tuple[str, str], ...]
    note: Mapping[str, Any] = field(default_factory=dict)
    """What it was matched to, or where its prompt comes from."""

    @classmethod
    def of(cls, trace: Trace) -> Example:
        """A trace as it is."""
        return cls(trace, trace.weight, trace.messages)

    def as_dict(self, arm: str) -> dict[str, Any]:
        """Plain data, readable by every trainer that takes chat messages."""
        trace = self.trace
        told = [{"role": role, "content": text} for role, text in self.messages]
        return {
            "messages": [*told, {"role": "assistant", "content": trace.reply}],
            "weight": round(self.weight, 6),
            "arm": arm,
            "provenance": trace.provenance(),
            "model": trace.model,
            "game": trace.game,
            "history_length": trace.history_length,
            "action": trace.action,
            "cooperative": trace.cooperative,
            "scores": [
                {"forward": s.forward, "quality": s.quality, "specificity": s.specificity}
                for s in trace.scores
            ],
            **self.note,
        }
