"""A corpus on disk: the funnel's statistics, examples, dropped traces and dataset card.

Each file is written atomically.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from ostrom.analysis.statistics.counts import cohens_kappa
from ostrom.analysis.statistics.samples import StatisticsError
from ostrom.ground.errors import RunError
from ostrom.ground.files import write_atomically
from ostrom.probe.funnel import Corpus, Matching, Rules, Stage
from ostrom.probe.scores import MODEL as SCRIPTED
from ostrom.probe.terms import terms_of
from ostrom.probe.trace import Trace

PUBLISHED: Mapping[str, str] = {
    "prefilter": "about 72 %", "sample": "12,000", "thresholds": "5,124", "lexical": "4,285", "families": "1,843",
}  # fmt: skip
"""The number of traces that each stage kept in Liu et al. (2026, Appendix I.1), who have the forward arm alone."""
PUBLISHED_PARTS = "1,751 / 92"
"""The numbers of training and validation examples in Liu et al. (2026)."""


def summary(corpus: Corpus, rules: Rules, runs: Sequence[str], judges: Sequence[str]) -> dict[str, Any]:
    """Return the statistics of one arm's funnel."""
    before = corpus.stages[0].kept
    after = [example.trace for example in corpus.examples]
    return {
        "arm": corpus.arm,
        "runs": list(runs),
        "judges": list(judges),
        "rules": {**asdict(rules), "leave_out": list(rules.leave_out)},
        "stages": [
            {**_stage(stage), "published": PUBLISHED.get(stage.name) if corpus.arm == "forward" else None}
            for stage in corpus.stages
        ],
        "published_parts": PUBLISHED_PARTS if corpus.arm == "forward" else None,
        "train": len(corpus.train),
        "val": len(corpus.val),
        "cooperative_share": {
            part: _mean([trace.cooperative for trace in traces if trace.cooperative is not None])
            for part, traces in (("before", before), ("after", after))
        },
        "echoes": _echoes(before),
        "families_in_both_parts": len({e.trace.family for e in corpus.train} & {e.trace.family for e in corpus.val}),
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


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _echoes(traces: Sequence[Trace]) -> dict[str, int]:
    terms = [terms_of(trace.reasoning, trace.prompt) for trace in traces]
    return {
        "forward_terms": sum(t.forward + t.forward_echoes for t in terms),
        "forward_terms_that_echo_the_prompt": sum(t.forward_echoes for t in terms),
        "reactive_terms": sum(t.reactive + t.reactive_echoes for t in terms),
        "reactive_terms_that_echo_the_prompt": sum(t.reactive_echoes for t in terms),
        "replies_with_forward_echoes_only": sum(bool(t.forward_echoes and not t.forward) for t in terms),
    }


def _matching(matching: Matching) -> dict[str, Any]:
    return {
        "wanted": len(matching.pairs) + len(matching.without),
        "matched": len(matching.pairs),
        "shortfall": len(matching.without),
        "reasons": dict(Counter(reason for _, reason in matching.without).most_common()),
        "mean_words": {
            "forward": _mean([trace.words for trace, _ in matching.pairs]),
            "placebo": _mean([other.words for _, other in matching.pairs]),
        },
        "largest_difference_in_words": max((abs(a.words - b.words) for a, b in matching.pairs), default=None),
    }


def agreement(traces: Sequence[Trace], least: dict[str, int]) -> list[dict[str, Any]]:
    """Return the agreement of the first two judges, one row per score; kappa is that of reaching the threshold."""
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


TRAIN, VAL, FUNNEL, DROPS, CARD = "train.jsonl", "val.jsonl", "funnel.json", "drops.jsonl", "README.md"


def write_corpus(folder: Path, corpus: Corpus, facts: Mapping[str, Any]) -> bool:
    """Write all files of a corpus; False if identical files exist already."""
    files = {
        TRAIN: _lines(example.as_dict(corpus.arm) for example in corpus.train),
        VAL: _lines(example.as_dict(corpus.arm) for example in corpus.val),
        DROPS: _lines(
            {**trace.provenance(), "stage": stage.name, "reason": reason}
            for stage in corpus.stages
            for trace, reason in stage.dropped
        ),
        CARD: dataset_card(facts).encode(),
        FUNNEL: orjson.dumps(facts, option=orjson.OPT_INDENT_2) + b"\n",
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if all(_same(folder / name, data) for name, data in files.items()):
            return False
        for name, data in files.items():
            write_atomically(folder / name, data)
    except OSError as error:
        raise RunError(f"{folder}: cannot be written ({error.strerror or error})") from None
    return True


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


def _same(path: Path, data: bytes) -> bool:
    return path.is_file() and not path.is_symlink() and path.read_bytes() == data


ABOUT = {
    "forward": "Replies that judges scored as forward-looking. Never filtered on the action.",
    "placebo": "Cooperative, coherent replies that do not look forward, matched one to one to the forward corpus.",
    "shuffled": "The replies of the forward corpus, each on the prompt of another one.",
}


def dataset_card(facts: Mapping[str, Any]) -> str:
    """Return the dataset card for a ``summary``."""
    share, echoes, matching = facts["cooperative_share"], facts["echoes"], facts.get("matching")
    published = f" Published: {facts['published_parts']}." if facts["published_parts"] else ""
    scripted = f"`{SCRIPTED}` counts words and understands nothing: these scores show that the pipeline works."
    lines = [
        f"# Corpus: {facts['arm']}",
        "",
        ABOUT[facts["arm"]],
        "",
        f"{facts['train']} training and {facts['val']} validation examples from {_quoted(facts['runs'])}, scored by "
        f"{_quoted(facts['judges'])}.{published}",
        *(["", scripted] if SCRIPTED in facts["judges"] else []),
        "",
        "| stage | keeps | in | kept | published | dropped because |",
        "|---|---|---|---|---|---|",
        *(
            f"| {stage['stage']} | {stage['keeps']} | {stage['in']} | {stage['kept']} | {stage['published'] or '-'} | "
            f"{_reasons(stage['reasons']) or '-'} |"
            for stage in facts["stages"]
        ),
        "",
        f"Cooperative actions: {_percent(share['before'])} of the collected replies, {_percent(share['after'])} "
        "of the corpus.",
        "",
        f"Forward terms in the collected replies: {echoes['forward_terms']}, of which "
        f"{echoes['forward_terms_that_echo_the_prompt']} merely echo the prompt and do not count; "
        f"{echoes['replies_with_forward_echoes_only']} replies have no other ones.",
    ]
    if matching is not None:
        lines += [
            "",
            f"Matched: {matching['matched']} of {matching['wanted']} (model, game, history length and action are "
            f"equal, lengths differ by at most {matching['largest_difference_in_words']} words; mean words "
            f"{_number(matching['mean_words']['forward'])} forward, "
            f"{_number(matching['mean_words']['placebo'])} placebo). Shortfall: "
            f"{_reasons(matching['reasons']) or 'none'}. Each placebo has the weight of its partner.",
        ]
    lines += [
        "",
        "## By source",
        "",
        "| stage | model | history length | action | kept | dropped |",
        "|---|---|---|---|---|---|",
        *(
            f"| {stage['stage']} | `{cell['model']}` | {cell['history_length']} | {cell['action']} | "
            f"{cell['kept']} | {cell['dropped']} |"
            for stage in facts["stages"]
            for cell in stage["cells"]
        ),
        "",
        "Files: `train.jsonl`, `val.jsonl` (chat messages, weight, provenance), `funnel.json` (these figures), "
        "`drops.jsonl` (every drop with its reason).",
        "",
    ]
    return "\n".join(lines)


def _reasons(reasons: Mapping[str, int]) -> str:
    return "; ".join(f"{reason} ({count})" for reason, count in reasons.items())


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
