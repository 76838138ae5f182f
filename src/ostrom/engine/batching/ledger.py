"""The batches of a run as the journal tells them: what was planned, made, and has come to an end.

``planned`` is durable before anything is sent, ``uploaded`` before the batch is made, ``created`` before it is awaited.
A batch that was planned and has no identifier may exist all the same; it is looked for before anything else is made.
"""

import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from ostrom.engine.journal import Journal
from ostrom.ground.errors import RunError
from ostrom.ground.words import how_many
from ostrom.models.batches import is_identifier

KEY = 16
"""Bytes of the key of a call."""


@dataclass(slots=True, eq=False)
class JournaledBatch:
    """One batch of a run."""

    number: int
    model: str
    marker: str
    keys: list[bytes]
    at: float
    file: str | None = None
    since: float | None = None
    """The creation time of the newest batch that the service had before this one."""
    id: str | None = None
    found: bool = False
    """Its identifier is from a listing, and not the answer to its creation."""
    how: str = "planned"
    ended: float | None = None
    why: str | None = None
    """The first reason that the service gave for not accepting it."""
    refuted: set[str] = field(default_factory=set)
    """Batches of the service that looked like this one and were not."""
    silent: frozenset[bytes] = frozenset()
    """Requests for which it ended without a readable line: they may have been run, and billed."""
    void: bool = False
    """It never came to exist."""
    settled: bool = False
    """All of its replies are in the journal, or their calls are in later batches."""
    begun: float = field(init=False)
    """When it was planned, on a clock that never jumps: the system's clock is asked once in a session."""

    def __post_init__(self) -> None:
        self.begun = time.monotonic() - max(0.0, time.time() - self.at)

    @property
    def state(self) -> str:
        """In one word, for people."""
        return "settled" if self.settled else "void" if self.void else self.how

    def request_id(self, key: bytes) -> str:
        """The identifier of a request: no other batch, of this or another run, has it."""
        return f"{self.marker}-{key.hex()}"

    def take(self, event: str, facts: dict[str, Any]) -> None:
        """Take in what happened."""
        if event == "uploaded":
            self.file, self.since, self.how = facts.get("file"), facts.get("since"), "uploaded"
        elif event == "created":
            self.id, self.how, self.found = _named(facts["id"]), "in_progress", bool(facts.get("found"))
        elif event == "refuted":
            self.refuted.add(facts["id"])
            self.id, self.how = None, "uploaded"
        elif event == "ended":
            self.how, self.ended, self.why = facts["how"], facts.get("at"), facts.get("why")
            self.silent = frozenset(self.keys[place] for place in facts.get("silent", ()))
        elif event in ("void", "settled"):
            setattr(self, event, True)


def _named(name: object) -> str:
    """The identifier of a batch: it becomes part of an address, and a journal may come from a stranger."""
    if not isinstance(name, str) or not is_identifier(name):
        raise ValueError(name)
    return name


class Ledger:
    """Writes what happens to batches into the journal, and reads it again."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.batches = read_batches(journal)

    def plan(self, model: str, keys: list[bytes]) -> JournaledBatch:
        """A new batch; it is durable after the next ``flush``."""
        number = max(self.batches, default=0) + 1
        batch = JournaledBatch(number, model, secrets.token_hex(8), keys, time.time())
        self.journal.batch(number, batch.at, "planned", {"model": model, "marker": batch.marker}, b"".join(keys))
        self.batches[number] = batch
        return batch

    def tell(self, batch: JournaledBatch, event: str, **facts: Any) -> None:
        """Something happened to a batch."""
        self.journal.batch(batch.number, time.time(), event, facts)
        batch.take(event, facts)

    async def flush(self) -> None:
        """Wait until everything told so far is on the disk."""
        await self.journal.flush()

    def times_silent(self, key: bytes) -> int:
        """How many batches have ended without saying what became of a request."""
        return sum(key in batch.silent for batch in self.batches.values())

    def claimed(self) -> set[str]:
        """The identifiers of the service that belong to batches of this run."""
        return {batch.id for batch in self.batches.values() if batch.id is not None}


def read_batches(journal: Journal) -> dict[int, JournaledBatch]:
    """All batches of a run, by number."""
    batches: dict[int, JournaledBatch] = {}
    for number, at, event, facts, keys in journal.batches():
        try:
            if event == "planned":
                each = [keys[start : start + KEY] for start in range(0, len(keys), KEY)]
                batches[number] = JournaledBatch(number, str(facts["model"]), str(facts["marker"]), each, at)
            elif number in batches:
                batches[number].take(event, {**facts, "at": at})
        except (KeyError, IndexError, TypeError, ValueError):
            raise RunError(f"{journal.path}: batch {number}: its entry {event!r} cannot be read") from None
    return batches


def batches_in_words(count: int) -> str:
    """A number of batches.

    >>> batches_in_words(1), batches_in_words(2)
    ('1 batch', '2 batches')
    """
    return how_many(count, "batch")


def refuse_batches(journal: Journal) -> None:
    """Refuse to ask again directly what batches under way have been asked, and will be paid for."""
    open_ones = [b for b in read_batches(journal).values() if not (b.settled or b.void)]
    if open_ones:
        raise RunError(
            f"{journal.path}: {batches_in_words(len(open_ones))} under way "
            f"(first {open_ones[0].id or 'not named yet'}): "
            f"go on with --batch, or give them up with `ostrom more batches {journal.path.parent} --forget`"
        )
