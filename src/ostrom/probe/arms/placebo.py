"""Placebo: replies that cooperate as coherently without looking forward, matched one to one to the forward corpus.

If training on these raises cooperation as much, the words about the future were not the cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ostrom.probe.example import Example
from ostrom.probe.stage import Stage, sieve
from ostrom.probe.trace import Trace

CALIPER = 0.25
"""A partner's reply is longer or shorter by at most a quarter."""
Stratum: TypeAlias = tuple[str, str, int | None, str]


def candidates(traces: Iterable[Trace], below: int, quality: int) -> Stage:
    """Replies that can stand for a forward-looking one: cooperative, coherent, not forward-looking."""

    def why(trace: Trace) -> str | None:
        if not trace.cooperative:
            return "not cooperative"
        if any(score.quality < quality for score in trace.scores):
            return f"quality below {quality}"
        return f"forward not below {below}" if any(s.forward >= below for s in trace.scores) else None

    rule = f"cooperative, quality at least {quality}, forward below {below}"
    return sieve("placebo", rule, traces, why)


@dataclass(frozen=True, slots=True)
class Matching:
    """Pairs of a forward-looking reply and its placebo, and the forward ones that found none."""

    pairs: tuple[tuple[Trace, Trace], ...]
    without: tuple[tuple[Trace, str], ...]

    def examples(self) -> list[Example]:
        """The placebos, each with the weight of its partner: both corpora pull equally hard."""
        return [
            Example(other, trace.weight, other.messages, {"matched_to": trace.provenance()})
            for trace, other in self.pairs
        ]


def matched(forward: Sequence[Trace], others: Sequence[Trace]) -> Matching:
    """Match on model, game, history length and action exactly, on the number of words within a quarter.

    The longest replies choose first, each the nearest length that is left. Nothing is used twice; who finds no partner
    is reported, not filled up.
    """
    pool: dict[Stratum, list[Trace]] = {}
    for trace in others:
        pool.setdefault(_stratum(trace), []).append(trace)
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
