"""A corpus on disk: examples, funnel, drops and dataset card, each written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from ostrom.ground.errors import RunError
from ostrom.ground.files import write_whole
from ostrom.probe.funnel import Corpus
from ostrom.probe.scores import MODEL as SCRIPTED

TRAIN, VAL, FUNNEL, DROPS, CARD = "train.jsonl", "val.jsonl", "funnel.json", "drops.jsonl", "README.md"


def write_corpus(folder: Path, corpus: Corpus, told: Mapping[str, Any]) -> bool:
    """Write all files of a corpus; False where they are there already, byte by byte."""
    drops = (
        {**trace.provenance(), "stage": stage.name, "reason": reason}
        for stage in corpus.stages
        for trace, reason in stage.dropped
    )
    files = {
        TRAIN: _lines(example.as_dict(corpus.arm) for example in corpus.train),
        VAL: _lines(example.as_dict(corpus.arm) for example in corpus.val),
        DROPS: _lines(drops),
        CARD: dataset_card(told).encode(),
        FUNNEL: orjson.dumps(told, option=orjson.OPT_INDENT_2) + b"\n",
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if all(_same(folder / name, data) for name, data in files.items()):
            return False
        for name, data in files.items():
            write_whole(folder / name, data)
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


def dataset_card(told: Mapping[str, Any]) -> str:
    """The card for what ``summary`` told."""
    lines = [
        f"# Corpus: {told['arm']}",
        "",
        ABOUT[told["arm"]],
        "",
        f"{told['train']} training and {told['val']} validation examples from {_code(told['runs'])}, scored by "
        f"{_code(told['judges'])}.",
    ]
    if SCRIPTED in told["judges"]:
        lines += [
            "",
            f"`{SCRIPTED}` counts words and understands nothing: these scores show that the pipeline works.",
        ]
    lines += ["", "| stage | keeps | in | kept | dropped because |", "|---|---|---|---|---|"]
    for stage in told["stages"]:
        why = "; ".join(f"{reason} ({count})" for reason, count in stage["reasons"].items()) or "-"
        lines.append(f"| {stage['stage']} | {stage['keeps']} | {stage['in']} | {stage['kept']} | {why} |")
    share = told["cooperative_share"]
    echoes = told["echoes"]
    lines += [
        "",
        f"Cooperative actions: {_percent(share['before'])} of the collected replies, {_percent(share['after'])} "
        "of the corpus.",
        "",
        f"Forward terms in the collected replies: {echoes['forward_terms']}, of which "
        f"{echoes['forward_terms_that_echo_the_prompt']} merely echo the prompt and do not count; "
        f"{echoes['replies_with_forward_echoes_only']} replies have no other ones.",
    ]
    if (matching := told.get("matching")) is not None:
        lines += [
            "",
            f"Matched: {matching['matched']} of {matching['wanted']} (model, game, history length and action are "
            f"equal, lengths differ by at most {matching['largest_difference_in_words']} words; mean words "
            f"{_number(matching['mean_words']['forward'])} forward, "
            f"{_number(matching['mean_words']['placebo'])} placebo)."
            " Shortfall: "
            + ("; ".join(f"{reason} ({count})" for reason, count in matching["reasons"].items()) or "none")
            + ". Each placebo has the weight of its partner.",
        ]
    lines += ["", "## By source", ""]
    lines += ["| stage | model | history length | action | kept | dropped |", "|---|---|---|---|---|---|"]
    for stage in told["stages"]:
        lines += [
            f"| {stage['stage']} | `{cell['model']}` | {cell['history_length']} | {cell['action']} | "
            f"{cell['kept']} | {cell['dropped']} |"
            for cell in stage["cells"]
        ]
    lines += [
        "",
        "Files: `train.jsonl`, `val.jsonl` (chat messages, weight, provenance), `funnel.json` (these figures), "
        "`drops.jsonl` (every drop with its reason).",
        "",
    ]
    return "\n".join(lines)


def _code(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
