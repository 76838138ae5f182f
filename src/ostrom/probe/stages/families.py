"""Families: few replies that begin alike."""

from __future__ import annotations

from collections.abc import Sequence

from ostrom.probe.stage import Stage, parted
from ostrom.probe.trace import PREFIX, Trace


def families(traces: Sequence[Trace], most: int) -> Stage:
    """At most ``most`` replies with the same first 50 characters, drawn at random among them."""
    taken: dict[str, int] = {}
    chosen = []
    for trace in sorted(traces, key=lambda t: (t.order, t.place)):
        taken[trace.family] = taken.get(trace.family, 0) + 1
        if taken[trace.family] <= most:
            chosen.append(trace)
    rule = f"at most {most} replies with the same first {PREFIX} characters"
    return parted("families", rule, traces, chosen, f"more than {most} replies begin alike")
