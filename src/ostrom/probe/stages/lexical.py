"""Lexical check: independent of the judge, the reply itself must look forward more than back."""

from __future__ import annotations

from collections.abc import Iterable

from ostrom.probe.stage import Stage, sieve
from ostrom.probe.terms import terms_of
from ostrom.probe.trace import Trace


def lexical(traces: Iterable[Trace]) -> Stage:
    """At least one forward term and more forward than reactive ones (Liu et al. 2026, Appendix I.1), without echoes."""

    def why(trace: Trace) -> str | None:
        found = terms_of(trace.reasoning, trace.prompt)
        if not found.forward:
            return "no forward term of its own"
        return None if found.forward > found.reactive else "no more forward than reactive terms"

    return sieve("lexical", "own forward terms: at least one, and more than reactive ones", traces, why)
