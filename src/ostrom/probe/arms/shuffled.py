"""Shuffled: the same replies on other prompts, so that only what is said remains, not what it answers."""

from __future__ import annotations

from collections.abc import Sequence

from ostrom.probe.example import Example
from ostrom.probe.trace import Trace


def shuffled(traces: Sequence[Trace]) -> tuple[list[Example], list[tuple[Trace, str]]]:
    """Every reply with the prompt of another trace of the same game, each prompt used once.

    Prompts go round in a fixed shuffled order, by the smallest step at which all prompts are others (or, where equal
    prompts forbid that, fewest are the same; those are left out and reported).
    """
    examples: list[Example] = []
    without: list[tuple[Trace, str]] = []
    games: dict[str, list[Trace]] = {}
    for trace in sorted(traces, key=lambda t: (t.order, t.place)):
        games.setdefault(trace.game, []).append(trace)
    for group in games.values():
        step = min(range(1, len(group) + 1), key=lambda s: _same(group, s))
        for index, trace in enumerate(group):
            other = group[(index + step) % len(group)]
            if other.messages == trace.messages:
                without.append((trace, "no other prompt left"))
            else:
                examples.append(
                    Example(trace, trace.weight, other.messages, {"prompt_of": other.provenance()})
                )
    return examples, without


def _same(group: Sequence[Trace], step: int) -> int:
    return sum(
        trace.messages == group[(index + step) % len(group)].messages for index, trace in enumerate(group)
    )
