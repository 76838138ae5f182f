"""Judged: every judge has given scores."""

from __future__ import annotations

from collections.abc import Iterable

from ostrom.probe.stage import Stage, sieve
from ostrom.probe.trace import Trace


def judged(traces: Iterable[Trace], judges: int) -> Stage:
    """A trace without the scores of all judges cannot be weighed."""
    rule = "scored by every judge"
    return sieve(
        "judged", rule, traces, lambda t: None if len(t.scores) == judges else "no scores from every judge"
    )
