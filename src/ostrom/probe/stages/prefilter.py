"""Prefilter: at least one forward-looking term of the reply's own."""

from __future__ import annotations

from collections.abc import Iterable

from ostrom.probe.stage import Stage, sieve
from ostrom.probe.terms import terms_of
from ostrom.probe.trace import Trace


def prefilter(traces: Iterable[Trace]) -> Stage:
    """Keep replies with a forward-looking keyword (Liu et al. 2026, Appendix I.1); an echo of the prompt is none."""

    def why(trace: Trace) -> str | None:
        found = terms_of(trace.reasoning, trace.prompt)
        if found.forward:
            return None
        return "every forward term echoes the prompt" if found.forward_echoes else "no forward term"

    return sieve("prefilter", "at least one forward term that does not echo the prompt", traces, why)
