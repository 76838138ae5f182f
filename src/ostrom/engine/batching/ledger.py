"""The batches of a run in the journal: planned, created and ended.

``planned`` is durable before anything is sent, ``uploaded`` before the batch is made, ``created`` before it is awaited.
A planned batch without an identifier may exist at the service all the same: it is looked up before another is made.
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
"""The length of a call's key, in bytes."""


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
    """Whether the identifier comes from a listing rather than from the answer to the creation."""
    how: str = "planned"
    ended: float | None = None
    why: str | None = None
    """The first reason that the service gave for not accepting it."""
    refuted: set[str] = field(default_factory=set)
    """Identifiers of batches that were taken for this one and turned out to be others."""
    silent: frozenset[bytes] = frozenset()
    """Requests without a readable result line: they may have been run and billed."""
    void: bool = False
    """Whether the batch was never created."""
    settled: bool = False
    """Whether all replies are in the journal, or their calls are in later batches."""
    begun: float = field(init=False)
    """The planning time on a monotonic clock: the system clock is read once in a session."""

    def __post_init__(self) -> None:
        self.begun = time.monotonic() - max(0.0, time.time() - self.at)

    @property
    def state(self) -> str:
        """Return the state in one word."""
        return "settled" if self.settled else "void" if self.void else self.how

    def request_id(self, key: bytes) -> str:
        """The identifier of a request: no other batch, of this or another run, has it."""
        return f"{self.marker}-{key.hex()}"

    def take(self, event: str, facts: dict[str, Any]) -> None:
        """Update the batch with a journaled event."""
        match event:
            case "uploaded":
                self.file, self.since, self.how = facts.get("file"), facts.get("since"), "uploaded"
            case "created":
                # The identifier becomes part of a URL, and a journal may come from a stranger.
                if not isinstance(facts["id"], str) or not is_identifier(facts["id"]):
                    raise ValueError(facts["id"])
                self.id, self.how, self.found = facts["id"], "in_progress", bool(facts.get("found"))
            case "refuted":
                self.refuted.add(facts["id"])
                self.id, self.how = None, "uploaded"
            case "ended":
                self.how, self.ended, self.why = facts["how"], facts.get("at"), facts.get("why")
                self.silent = frozenset(self.keys[place] for place in facts.get("silent", ()))
            case "void" | "settled":
                setattr(self, event, True)


class Ledger:
    """Writes events of batches to the journal and reads them back."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.batches = read_batches(journal)

    def plan(self, model: str, keys: list[bytes]) -> JournaledBatch:
        """Plan a new batch; it is durable after the next ``flush``."""
        number = max(self.batches, default=0) + 1
        batch = JournaledBatch(number, model, secrets.token_hex(8), keys, time.time())
        self.journal.batch(number, batch.at, "planned", {"model": model, "marker": batch.marker}, b"".join(keys))
        self.batches[number] = batch
        return batch

    def tell(self, batch: JournaledBatch, event: str, **facts: Any) -> None:
        """Record an event of a batch."""
        self.journal.batch(batch.number, time.time(), event, facts)
        batch.take(event, facts)

    async def flush(self) -> None:
        """Wait until all recorded events are on disk."""
        await self.journal.flush()

    def times_silent(self, key: bytes) -> int:
        """Return the number of batches that ended without a result for a request."""
        return sum(key in batch.silent for batch in self.batches.values())

    def claimed(self) -> set[str]:
        """Return the service's identifiers of this run's batches."""
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
    """Return a number of batches in words.

    >>> batches_in_words(1), batches_in_words(2)
    ('1 batch', '2 batches')
    """
    return how_many(count, "batch")


def refuse_batches(journal: Journal) -> None:
    """Refuse to send requests directly that a batch under way will answer and bill."""
    if open_ones := [b for b in read_batches(journal).values() if not (b.settled or b.void)]:
        raise RunError(
            f"{journal.path}: {batches_in_words(len(open_ones))} under way "
            f"(first {open_ones[0].id or 'not named yet'}): "
            f"go on with --batch, or give them up with `ostrom more batches {journal.path.parent} --forget`"
        )
