"""What happened in the funnel, as plain data: counts per stage, source and action, echoes, matching, agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ostrom.analysis.statistics.counts import cohens_kappa
from ostrom.analysis.statistics.samples import StatisticsError
from ostrom.probe.arms import Matching
from ostrom.probe.funnel import Corpus, Rules
from ostrom.probe.stages import Stage
from ostrom.probe.terms import terms_of
from ostrom.probe.trace import Trace


def summary(corpus: Corpus, rules: Rules, runs: Sequence[str], judges: Sequence[str]) -> dict[str, Any]:
    """The funnel of one arm."""
    before = corpus.stages[0].kept
    after = [example.trace for example in corpus.examples]
    return {
        "arm": corpus.arm,
        "runs": list(runs),
        "judges": list(judges),
        "rules": {**asdict(rules), "leave_out": list(rules.leave_out)},
        "stages": [_stage(stage) for stage in corpus.stages],
        "train": len(corpus.train),
        "val": len(corpus.val),
        "cooperative_share": {"before": _cooperative(before), "after": _cooperative(after)},
        "echoes": _echoes(before),
        "families_in_both_parts": len(
            {e.trace.family for e in corpus.train} & {e.trace.family for e in corpus.val}
        ),
        **({"matching": _matching(corpus.matching)} if corpus.matching is not None else {}),
    }


def _stage(stage: Stage) -> dict[str, Any]:
    cells: dict[tuple[str, str], Counter[str]] = {}
    for state, traces in (("kept", stage.kept), ("dropped", [trace for trace, _ in stage.dropped])):
        for trace in traces:
            length = "none" if trace.history_length is None else str(trace.history_length)
            cells.setdefault((trace.model, length), Counter())[f"{state}:{trace.action}"] += 1
    return {
        "stage": stage.name,
        "keeps": stage.rule,
        "in": len(stage.kept) + len(stage.dropped),
        "kept": len(stage.kept),
        "dropped": len(stage.dropped),
        "reasons": stage.reasons,
        "cells": [
            {"model": model, "history_length": length, "action": action,
             "kept": counts[f"kept:{action}"], "dropped": counts[f"dropped:{action}"]}
            for (model, length), counts in sorted(cells.items())
            for action in sorted({key.partition(":")[2] for key in counts})
        ],
    }  # fmt: skip


def _cooperative(traces: Sequence[Trace]) -> float | None:
    known = [trace.cooperative for trace in traces if trace.cooperative is not None]
    return sum(known) / len(known) if known else None


def _echoes(traces: Sequence[Trace]) -> dict[str, int]:
    found = [terms_of(trace.reasoning, trace.prompt) for trace in traces]
    return {
        "forward_terms": sum(t.forward + t.forward_echoes for t in found),
        "forward_terms_that_echo_the_prompt": sum(t.forward_echoes for t in found),
        "reactive_terms": sum(t.reactive + t.reactive_echoes for t in found),
        "reactive_terms_that_echo_the_prompt": sum(t.reactive_echoes for t in found),
        "replies_with_forward_echoes_only": sum(bool(t.forward_echoes and not t.forward) for t in found),
    }


def _matching(matching: Matching) -> dict[str, Any]:
    def mean(values: list[int]) -> float | None:
        return sum(values) / len(values) if values else None

    return {
        "wanted": len(matching.pairs) + len(matching.without),
        "matched": len(matching.pairs),
        "shortfall": len(matching.without),
        "reasons": dict(Counter(reason for _, reason in matching.without).most_common()),
        "mean_words": {
            "forward": mean([trace.words for trace, _ in matching.pairs]),
            "placebo": mean([other.words for _, other in matching.pairs]),
        },
        "largest_difference_in_words": max((abs(a.words - b.words) for a, b in matching.pairs), default=None),
    }


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
            ).estimate
        except StatisticsError as error:
            row["note"] = str(error)
        rows.append(row)
    return rows
