"""Shards: one study played in several folders, each with its own journal, on as many machines as there are shards.

A shard plays every n-th unit under the number that the unit has in the undivided study, and its calls have numbers
that no other shard gives. The rows of all shards together are therefore exactly those of the undivided run.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ostrom.ground.errors import UsageError

T = TypeVar("T")
MOST_SHARDS = 4096
CALLS_APART = 10**9
"""The size of each shard's range of call numbers."""
CALL_BOUNDS = "SELECT (SELECT coalesce(min(id), 1) - 1 FROM calls), (SELECT coalesce(max(id), 0) FROM calls)"
"""SQL for the number before the first call of a journal, and that of the last call, as two subqueries: a single query
for both would read all calls."""
CALL_SUMS = (
    "SELECT unit, count(*), sum(error IS NOT NULL AND finish IS NULL), coalesce(sum(tokens_in), 0), "
    "coalesce(sum(tokens_out), 0), total(usd), sum(error IS NULL AND usd IS NULL) FROM calls "
    "WHERE id > ? AND id <= ? GROUP BY unit"
)
CALLS_AT_ONCE = 10_000
"""The most calls that one query sums."""


@dataclass
class CallCursor:
    """How far the calls of one journal were read; a joined run has a journal for each shard."""

    through: int = 0
    """The last call that was read."""
    seal: int | None = None
    """The checksum of that call: while the journal holds it, all calls before it are unchanged."""
    before: int = 0
    """The number after which the calls of the journal begin."""
    last: int = 0

    def look(self, journal: sqlite3.Connection) -> bool:
        """Update the range of call numbers; return False if this is not the journal that was read before."""
        self.before, self.last = journal.execute(CALL_BOUNDS).fetchone()
        unchanged = self.seal is None or self.seal == self._seal(journal)
        self.through = max(self.through, self.before)
        return unchanged

    def sums(self, journal: sqlite3.Connection, until: float) -> Iterator[list[tuple[Any, ...]]]:
        """Yield sums over the next calls by unit, some thousand calls at a time, until the monotonic time ``until``."""
        while self.through < self.last:
            upto = min(self.through + CALLS_AT_ONCE, self.last)
            rows = journal.execute(CALL_SUMS, (self.through, upto)).fetchall()
            self.through = upto
            self.seal = self._seal(journal)
            yield rows
            if time.monotonic() > until:
                return

    def _seal(self, journal: sqlite3.Connection) -> int | None:
        row = journal.execute("SELECT seal FROM calls WHERE id=?", (self.through,)).fetchone()
        return None if row is None else row[0]


def entries_in(journal: sqlite3.Connection) -> int:
    """Return the number of entries that a journal states; 0 if it states none."""
    row = journal.execute("SELECT value FROM meta WHERE key='entries'").fetchone()
    return row[0] if row is not None and type(row[0]) is int else 0


def holder(call: int, parts: Sequence[T]) -> T:
    """Return the part of a run that holds a call; a run that is not joined has one part.

    >>> holder(7, ["one"]), holder(CALLS_APART, ["one", "two"]), holder(CALLS_APART + 1, ["one", "two"])
    ('one', 'one', 'two')
    """
    return parts[min((call - 1) // CALLS_APART, len(parts) - 1)]


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of a study, numbered from 1.

    >>> Shard.parse("3/64"), str(Shard(3, 64)), Shard(3, 64).folder("memory")
    (Shard(number=3, of=64), '3/64', 'memory.3-of-64')
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """The shard that ``3/64`` names."""
        if (parts := re.fullmatch(r"(\d{1,5})/(\d{1,5})", text, re.ASCII)) is None:
            raise UsageError(f"--shard {text!r}: must be NUMBER/OF, such as 3/64")
        shard = cls(int(parts[1]), int(parts[2]))
        if not 1 <= shard.number <= shard.of <= MOST_SHARDS:
            raise UsageError(
                f"--shard {text}: the number must lie between 1 and how many there are, "
                f"of which there may be {MOST_SHARDS}"
            )
        return shard

    @classmethod
    def of_manifest(cls, manifest: Mapping[str, Any]) -> Shard | None:
        """Return the shard of a run; None for a run without shards."""
        part = manifest.get("shard")
        return None if part is None else cls.parse(f"{part['number']}/{part['of']}")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def owns(self, group: int) -> bool:
        """Return whether this shard plays the units of a group.

        >>> [group for group in range(9) if Shard(2, 4).owns(group)]
        [1, 5]
        """
        return group % self.of == self.number - 1

    def folder(self, name: str) -> str:
        """The name of the folder that the shard of a run is played into."""
        return f"{name}.{self.number}-of-{self.of}"

    def portion_of(self, total: int) -> int:
        """Return this shard's share of a number: shares are nearly equal and add up to it.

        >>> [Shard(number, 4).portion_of(10) for number in (1, 2, 3, 4)]
        [3, 3, 2, 2]
        """
        return total // self.of + (self.number <= total % self.of)

    @property
    def calls_before(self) -> int:
        """Return the number before the first call number of this shard."""
        return (self.number - 1) * CALLS_APART
