"""Sample: a random part, balanced over source models and history lengths."""

from __future__ import annotations

from collections.abc import Sequence

from ostrom.probe.stage import Stage, parted
from ostrom.probe.trace import Trace


def sample(traces: Sequence[Trace], size: int) -> Stage:
    """At most ``size`` traces: strata give one each in turn, so that a small one gives all it has."""
    strata: dict[tuple[str, int | None], list[Trace]] = {}
    for trace in sorted(traces, key=lambda t: (t.order, t.place)):
        strata.setdefault((trace.model, trace.history_length), []).append(trace)
    turns = [
        (turn, number, trace)
        for number, stratum in enumerate(strata[key] for key in sorted(strata, key=str))
        for turn, trace in enumerate(stratum)
    ]
    chosen = [trace for _, _, trace in sorted(turns, key=lambda t: t[:2])[:size]]
    rule = f"at most {size}, balanced over model and history length"
    return parted("sample", rule, traces, chosen, "not drawn")
