"""Which decisions of a run are judged: the reasoned ones, in an order that makes every beginning a sample."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from ostrom.ground.errors import RunError
from ostrom.ground.files import write_whole
from ostrom.ground.streams import key_of
from ostrom.studies.run import Run

SHORTEST = 80
"""Replies with fewer characters hold an answer but no reasons (Tewolde et al. 2026)."""
CORPUS = "corpus.jsonl"
DROPPED = frozenset(
    {"unit", "state", "kind", "label", "payoff", "expected", "probabilities", "p_cooperate", "reading",
     "invalid", "complaints", "note", "copied"}
)  # fmt: skip
"""Columns of a decision that a judged table does without."""


@dataclass(frozen=True, slots=True)
class JudgedTrace:
    """The reply that decided, and the number of its call."""

    call: int
    text: str


def trace_of(run: Run, match: int, step: int, player: int) -> JudgedTrace | None:
    """The reply that became the answer: the last one asked for the decision itself, with its forced end."""
    call, text = None, ""
    for number, part, reply, reasoning in run.journal.asked(match, step, player):
        if re.fullmatch(r"try\d+", part):
            call, text = number, "\n\n".join(filter(None, [reasoning, reply]))
        elif re.fullmatch(r"try\d+\.end", part):
            text = f"{text.rstrip()}\n{reply}"
    return None if call is None else JudgedTrace(call, text.strip())


def collect(run: Run, known: Sequence[Mapping[str, Any]], shortest: int = SHORTEST) -> list[dict[str, Any]]:
    """The corpus: what is known of it in its order, then the reasoned play decisions that have come since."""
    places = {(row["match"], row["step"], row["player"]) for row in known}
    fresh = []
    for row in run.rows.decisions():
        if row["state"] != "done" or row["kind"] != "act" or row["model"] is None or row["invalid"]:
            continue
        place = (row["match"], row["step"], row["player"])
        if place in places or row.get("copied"):
            continue
        trace = trace_of(run, row["match"], row["step"], row["player"] - 1)
        if trace is not None and len(trace.text) >= shortest:
            fresh.append({**{k: v for k, v in row.items() if k not in DROPPED}, "call": trace.call})
    fresh.sort(key=lambda row: key_of(f"judge:{row['match']}:{row['step']}:{row['player']}"))
    return [*map(dict, known), *fresh]


def read_corpus(folder: Path) -> list[dict[str, Any]]:
    """The decisions that a judged corpus lists; none before its first session."""
    path = folder / CORPUS
    try:
        return [orjson.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    except FileNotFoundError:
        return []
    except (OSError, orjson.JSONDecodeError) as error:
        raise RunError(f"{path}: cannot be read: {error}") from None


def write_corpus(folder: Path, corpus: Sequence[Mapping[str, Any]]) -> None:
    """Write the list whole or not at all."""
    path = folder / CORPUS
    try:
        write_whole(path, b"".join(orjson.dumps(row) + b"\n" for row in corpus))
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror})") from None
