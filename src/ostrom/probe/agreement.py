"""How far two judges agree on scores: the same number, within one point, and on who passes a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostrom.analysis.statistics.counts import cohens_kappa
from ostrom.analysis.statistics.samples import StatisticsError
from ostrom.probe.trace import Trace


def agreement(traces: Sequence[Trace], least: dict[str, int]) -> list[dict[str, Any]]:
    """One row per score, for the first two judges; kappa is about reaching the threshold."""
    both = [trace.scores[:2] for trace in traces if len(trace.scores) > 1]
    rows = []
    for name, bound in least.items():
        pairs = [(getattr(a, name), getattr(b, name)) for a, b in both]
        if not pairs:
            continue
        row: dict[str, Any] = {
            "score": name,
            "traces": len(pairs),
            "same": sum(a == b for a, b in pairs) / len(pairs),
            "within_one": sum(abs(a - b) <= 1 for a, b in pairs) / len(pairs),
            "threshold": bound,
            "kappa": None,
            "note": None,
        }
        try:
            row["kappa"] = cohens_kappa(
                [a >= bound for a, _ in pairs], [b >= bound for _, b in pairs], unit="trace"
            ).estimate.value
        except StatisticsError as error:
            row["note"] = str(error)
        rows.append(row)
    return rows
