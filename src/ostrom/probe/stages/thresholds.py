"""Thresholds: every judge finds the reply forward-looking, coherent and specific enough."""

from __future__ import annotations

from collections.abc import Iterable

from ostrom.probe.stage import Stage, sieve
from ostrom.probe.trace import Trace


def thresholds(traces: Iterable[Trace], forward: int, quality: int, specificity: int) -> Stage:
    """Forward at least 9, quality at least 9, specificity at least 7 in Liu et al. (2026, Appendix I.1)."""
    least = {"forward": forward, "quality": quality, "specificity": specificity}

    def why(trace: Trace) -> str | None:
        for name, bound in least.items():
            if any(getattr(score, name) < bound for score in trace.scores):
                return f"{name} below {bound}"
        return None

    rule = ", ".join(f"{name} at least {bound}" for name, bound in least.items())
    return sieve("thresholds", f"{rule} (first that fails is named)", traces, why)
