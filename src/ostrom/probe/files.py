"""A corpus on disk: examples, funnel, drops and card, each written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from ostrom.ground.errors import RunError
from ostrom.ground.files import write_whole
from ostrom.probe.card import dataset_card
from ostrom.probe.funnel import Corpus

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
