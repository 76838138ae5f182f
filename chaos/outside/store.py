"""What the outside service keeps: batches on their way to an end, and what was billed."""

from __future__ import annotations

import json
import re
import time
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from chaos.outside.faults import EARLY_READS, Draws, Plan
from chaos.outside.rules import Document

Line = dict[str, Any]


@dataclass(slots=True, eq=False)
class Batch:
    """One batch at the service."""

    id: str
    requests: list[tuple[str, Document]]
    made: float
    ends: float
    fate: str
    listed: float
    """From when on a listing shows it."""
    readable: float
    """From when on its results are there."""
    input: str | None = None
    endpoint: str = ""
    metadata: Any = None
    errors: list[Document] | None = None
    cancelled: bool = False
    done: bool = False
    replies: dict[str, str] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    """Requests that were answered with an error, which costs nothing."""
    unrun: list[str] = field(default_factory=list)
    reads: Counter[str] = field(default_factory=Counter)


class Store:
    """All batches of an account. Not safe for threads: the server holds a lock."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.draws = plan, Draws(plan)
        self.batches: dict[str, Batch] = {}
        self.billed: Counter[str] = Counter()
        """Replies that were billed in batches, by the content of the request."""
        self.billed_ids: Counter[str] = Counter()
        self.direct: Counter[str] = Counter()
        """Replies that were billed outside of batches, by the content of the request."""

    def add(self, name: str, requests: list[tuple[str, Document]], **more: Any) -> Batch:
        """A new batch; how it ends is drawn now."""
        now, plan, draws = time.monotonic(), self.plan, self.draws
        fate = draws.fate()
        if plan.tokens is not None and self._queued() + tokens_of(requests) > plan.tokens:
            fate, more["errors"] = "failed", [too_much(plan.tokens)]
            draws.met["batch too_much"] += 1
        ends = now + plan.seconds * (5 if fate == "slow" else 1)
        listed = now + (plan.lag if draws.lags() else 0)
        readable = ends + (plan.lag if draws.lags() else 0)
        batch = Batch(name, requests, now, ends, fate, listed, readable, **more)
        self.batches[name] = batch
        return batch

    def _queued(self) -> int:
        for batch in self.batches.values():
            self.look(batch)
        return sum(tokens_of(batch.requests) for batch in self.batches.values() if not batch.done)

    def look(self, batch: Batch) -> None:
        """Run a batch whose time has come."""
        if batch.done or (time.monotonic() < batch.ends and not batch.cancelled):
            return
        batch.done = True
        if batch.errors is not None or batch.fate == "failed":
            batch.fate = "failed"
            return
        if batch.cancelled:
            batch.fate = "cancelled"
        order = self.draws.shuffled(batch.requests)
        partly = batch.fate in ("expired", "cancelled")
        run = order[: self.draws.number(len(order) + 1)] if partly else order
        batch.unrun = [name for name, _ in order[len(run) :]]
        for name, body in run:
            if self.draws.line_fails():
                batch.failed.add(name)
            else:
                self.billed[content(body)] += 1
                self.billed_ids[name] += 1
                batch.replies[name] = reply(body)

    def spoiled(self, batch: Batch, file: str, lines: list[Line]) -> bytes | None:
        """A file of results as it is read this time, in any order; None where it is not there."""
        batch.reads[file] += 1
        early = batch.reads[file] <= EARLY_READS
        if time.monotonic() < batch.readable:
            return None
        kind = self.draws.reading() if early else None
        texts = [json.dumps(line) for line in self.draws.shuffled(lines)]
        if kind == "not_found":
            return None
        some = self.draws.number(len(texts))
        if kind == "missing":
            texts = texts[:some] + texts[some + 1 :]
        elif kind == "doubled" and texts:
            texts.insert(self.draws.number(len(texts)), texts[some])
        elif kind == "unknown" and texts:
            texts.insert(some, json.dumps({**lines[0], "custom_id": f"somebody-else-{some}"}))
        elif kind == "broken_line" and texts:
            texts[some] = texts[some][: len(texts[some]) // 2] + "\x00"
        whole = "".join(f"{text}\n" for text in texts).encode()
        return whole[: len(whole) // 2] if kind == "cut" else whole


def too_much(limit: int) -> Document:
    """Why a batch fails that is more than may be queued."""
    said = f"Enqueued token limit reached. Limit: {limit:,} enqueued tokens. Please try again later."
    return {"code": "token_limit_exceeded", "message": said, "param": None, "line": None}


def tokens_of(requests: list[tuple[str, Document]]) -> int:
    """About how many tokens the requests have."""
    return sum(len(json.dumps(body)) // 4 for _, body in requests)


def content(body: Document) -> str:
    """What is asked, without regard to the order of its fields."""
    return json.dumps(body, sort_keys=True)


def prompt(body: Document) -> str:
    """The last message."""
    found = body["messages"][-1]["content"]
    return found if isinstance(found, str) else "".join(str(part.get("text", "")) for part in found)


def reply(body: Document) -> str:
    """One of the options that the prompt names, by its content alone; one reply in six cannot be read."""
    text = prompt(body)
    draw = zlib.crc32(text.encode())
    options = sorted(set(re.findall(r"\[([^\[\]\n]{1,40})\]", text.rpartition("Valid answers")[2])))
    if draw % 6 == 0 or not options:
        return "It depends."
    return f"[{options[draw // 7 % len(options)]}]"
