"""Training arms: forward-looking replies, and the two arms that they are compared with.

Placebo: replies that cooperate as coherently without looking forward, matched one to one to the forward corpus. If
training on these raises cooperation as much, the words about the future were not the cause. Shuffled: the same replies
on other prompts, so that only what is said remains, not what it answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ostrom.ground.values import grouped
from ostrom.probe.stages import Stage, sieve
from ostrom.probe.trace import Trace


@dataclass(frozen=True, slots=True)
class Example:
    """A training example: a reply, its weight, and its prompt."""

    trace: Trace
    weight: float
    messages: tuple[tuple[str, str], ...]
    note: Mapping[str, Any] = field(default_factory=dict)
    """The trace that it was matched to, or the source of its prompt."""

    @classmethod
    def from_trace(cls, trace: Trace) -> Example:
        """An example with the trace's own prompt and weight."""
        return cls(trace, trace.weight, trace.messages)

    def as_dict(self, arm: str) -> dict[str, Any]:
        """Return the example as plain data for trainers of chat messages."""
        trace = self.trace
        messages = [{"role": role, "content": text} for role, text in self.messages]
        return {
            "messages": [*messages, {"role": "assistant", "content": trace.reply}],
            "weight": round(self.weight, 6),
            "arm": arm,
            "provenance": trace.provenance(),
            "model": trace.model,
            "game": trace.game,
            "history_length": trace.history_length,
            "action": trace.action,
            "cooperative": trace.cooperative,
            "scores": [
                {"forward": s.forward, "quality": s.quality, "specificity": s.specificity} for s in trace.scores
            ],
            **self.note,
        }


CALIPER = 0.25
"""The largest relative difference in length of a matched reply: a quarter."""
Stratum: TypeAlias = tuple[str, str, int | None, str]


def candidates(traces: Iterable[Trace], below: int, quality: int) -> Stage:
    """Return placebo candidates: cooperative, coherent, not forward-looking."""

    def why(trace: Trace) -> str | None:
        if not trace.cooperative:
            return "not cooperative"
        if any(score.quality < quality for score in trace.scores):
            return f"quality below {quality}"
        return f"forward not below {below}" if any(s.forward >= below for s in trace.scores) else None

    return sieve("placebo", f"cooperative, quality at least {quality}, forward below {below}", traces, why)


@dataclass(frozen=True, slots=True)
class Matching:
    """Pairs of a forward-looking reply and its placebo, and unmatched forward replies."""

    pairs: tuple[tuple[Trace, Trace], ...]
    without: tuple[tuple[Trace, str], ...]

    def examples(self) -> list[Example]:
        """Return the placebos, each with its partner's weight, so that both corpora weigh the same."""
        return [
            Example(other, trace.weight, other.messages, {"matched_to": trace.provenance()})
            for trace, other in self.pairs
        ]


def matched(forward: Sequence[Trace], others: Sequence[Trace]) -> Matching:
    """Match exactly on model, game, history length and action, and on the number of words within a quarter.

    The longest replies choose first, each the nearest length that is left. Nothing is used twice; a reply
    without a partner is reported.
    """
    pool = grouped((_stratum(trace), trace) for trace in others)
    pairs, without = [], []
    for trace in sorted(forward, key=lambda t: (-t.words, t.order, t.place)):
        left = pool.get(_stratum(trace), [])
        near = [t for t in left if abs(t.words - trace.words) <= CALIPER * trace.words]
        if near:
            best = min(near, key=lambda t: (abs(t.words - trace.words), t.order, t.place))
            left.remove(best)
            pairs.append((trace, best))
        elif not trace.cooperative:
            without.append((trace, "its action is not cooperative"))
        elif not left:
            without.append((trace, "no candidate left with its model, game, history length and action"))
        else:
            without.append((trace, "no candidate of about its length"))
    return Matching(tuple(pairs), tuple(without))


def _stratum(trace: Trace) -> Stratum:
    return trace.model, trace.game, trace.history_length, trace.action


def shuffled(traces: Sequence[Trace]) -> tuple[list[Example], list[tuple[Trace, str]]]:
    """Return every reply with the prompt of another trace of the same game, each prompt used once.

    Prompts are shifted along a fixed shuffled order, by the smallest step at which every reply gets another prompt. If
    equal prompts prevent that, the step leaves the fewest unchanged; these replies are left out and reported.
    """
    examples: list[Example] = []
    without: list[tuple[Trace, str]] = []
    for group in grouped((trace.game, trace) for trace in sorted(traces, key=lambda t: (t.order, t.place))).values():
        step = min(range(1, len(group) + 1), key=lambda s: _same(group, s))
        for index, trace in enumerate(group):
            other = group[(index + step) % len(group)]
            if other.messages == trace.messages:
                without.append((trace, "no other prompt left"))
            else:
                examples.append(Example(trace, trace.weight, other.messages, {"prompt_of": other.provenance()}))
    return examples, without


def _same(group: Sequence[Trace], step: int) -> int:
    return sum(trace.messages == group[(index + step) % len(group)].messages for index, trace in enumerate(group))
