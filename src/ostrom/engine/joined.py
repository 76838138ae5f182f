"""The journals of several shards read as one, for a joined run.

Every unit belongs to one shard, so a query about a unit goes to one journal, and a query about all units goes to all
journals, with the results merged in the order of units. Nothing is copied. A row about a unit of another shard is
refused.
"""

import resource
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from heapq import merge
from itertools import chain, count, islice
from operator import itemgetter
from pathlib import Path
from secrets import token_bytes
from typing import Any, TypeVar

from ostrom.engine.entries import CALL_NAMES, Journaled, JournaledCall, Place, UnitRecord
from ostrom.engine.journal import Journal
from ostrom.engine.shards import CALLS_APART
from ostrom.ground.errors import RunError
from ostrom.ground.values import grouped

T = TypeVar("T")
FILES_EACH, FILES_BESIDE = 3, 200
"""Files of an open journal (database, log and its index), and other open files of a process."""


def allow_files(journals: int) -> None:
    """Raise the limit on open files for this many journals, as far as the system allows."""
    wanted = FILES_EACH * journals + FILES_BESIDE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class JoinedJournal(Journal):
    """The journals of all shards of a run, in the order of the shards; read-only."""

    def __init__(self, path: Path, parts: Sequence[Journal]) -> None:
        self.path, self.parts = path, tuple(parts)
        self.tally_path = path.with_name("journal.db.tally")
        self.versions = list(dict.fromkeys(version for part in parts for version in part.versions))
        self._writer, self.closed, self.changed_packages = None, False, ()
        self._group: Callable[[int], int] = int
        # A journal whose calls have numbers of another shard is refused: calls are looked up by number alone.
        for before, part in zip(count(0, CALLS_APART), self.parts, strict=False):
            for first, last in part._rows("SELECT (SELECT min(id) FROM calls), (SELECT max(id) FROM calls)"):
                if first is not None and not before < first <= last <= before + CALLS_APART:
                    own = f"{before + 1} to {before + CALLS_APART}"
                    raise RunError(f"{part.path}: holds calls {first} to {last}, its own are {own}")

    def assign(self, group: Callable[[int], int]) -> None:
        """Set which units belong together (``Plan.group``); call it before any query about a unit."""
        self._group = group

    def _part(self, unit: int) -> Journal:
        return self.parts[self._group(unit) % len(self.parts)]

    def _own(self, rows: Callable[[Journal], Iterable[T]], unit: Callable[[T], int]) -> list[Iterator[T]]:
        """Return the rows of every journal; a row about a unit of another shard is refused."""

        def own(number: int, part: Journal) -> Iterator[T]:
            for row in rows(part):
                place = self._group(unit(row)) % len(self.parts)
                if place != number:
                    raise RunError(
                        f"{part.path}: holds match {unit(row)}, which belongs to shard {place + 1}, not {number + 1}"
                    )
                yield row

        return [own(number, part) for number, part in enumerate(self.parts)]

    @property
    def entries(self) -> int:
        """How many entries all journals hold."""
        return sum(part.entries for part in self.parts)

    def start(self) -> None:
        """Refuse: new entries go into the journals of the shards."""
        raise RunError(f"{self.path.parent}: is joined from shards; these are gone on with")

    @property
    def lazily_verified(self) -> bool:  # type: ignore[override]
        """Return whether checksums of some journal are verified only when read."""
        return any(part.lazily_verified for part in self.parts)

    def check_seals(self) -> int:
        """Verify every checksum; return the number of entries of all journals."""
        return sum(part.check_seals() for part in self.parts)

    def sample(self, count: int) -> list[int]:
        """Return about ``count`` random units with stored rows, from every journal."""
        drawn = chain(*self._own(lambda part: part.sample(-(-count // len(self.parts))), int))
        return [unit for _, unit in sorted((token_bytes(4), unit) for unit in drawn)]

    def calls_of(self, unit: int) -> Iterator[JournaledCall]:
        """Every try at a call of a unit with its prompt."""
        return self._part(unit).calls_of(unit)

    def check_packages(self) -> None:
        """Read every package of prompts of every journal."""
        for part in self.parts:
            part.check_packages()

    def served(self) -> dict[str, list[str]]:
        """The models that were called, each with the versions that its servers named."""
        versions = grouped(pair for part in self.parts for pair in part.served().items())
        return {model: sorted(set(chain(*lists))) for model, lists in sorted(versions.items())}

    @property
    def was_closed(self) -> bool:
        """Whether every journal was closed by the last process that wrote to it."""
        return all(part.was_closed for part in self.parts)

    def check_structure(self) -> None:
        """Check the structure of every journal."""
        for part in self.parts:
            part.check_structure()

    def close(self) -> None:
        """Close all journals."""
        for part in self.parts:
            part.close()
        self.closed = True

    def begin_snapshot(self) -> None:
        """Start a read transaction on all journals: later reads see this moment."""
        for part in self.parts:
            part.begin_snapshot()

    def reopened(self) -> Journal:
        """Open these journals a second time, for reading."""
        again = JoinedJournal(self.path, [part.reopened() for part in self.parts])
        again.assign(self._group)
        return again

    # -- one unit: a query about it goes to the journal that holds it --------------------------------

    def _rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        return self._part(values[0])._rows(query, *values)

    def _entries_of(self, table: str, rest: str = "", *values: Any) -> Iterator[tuple[Any, ...]]:
        return self._part(values[0])._entries_of(table, rest, *values)

    def file(self, unit: int) -> Path:
        """Return the journal file of a unit."""
        return self._part(unit).path

    def answers(self, unit: int) -> dict[Place, Journaled]:
        """Return all answers of a unit, with the number of complaints before each and the question."""
        return self._part(unit).answers(unit)

    def prompt(self, call: int) -> list[list[str]] | None:
        """The messages of one call as [role, content] pairs."""
        number = (call - 1) // CALLS_APART
        return self.parts[number].prompt(call) if 0 <= number < len(self.parts) else None

    # -- all units -----------------------------------------------------------------------------------

    def states(self) -> dict[int, str]:
        """The state of every unit that has ended."""
        return dict(chain(*self._own(lambda part: part.states().items(), itemgetter(0))))

    def endings(self) -> Iterator[tuple[int, str, str | None]]:
        """Unit, state and reason of every unit that has ended."""
        yield from merge(*self._own(Journal.endings, itemgetter(0)), key=itemgetter(0))

    def end_versions(self, after: int) -> Iterator[tuple[int, str, str]]:
        """Yield unit, state and version of the end for every ended unit above ``after``, in order."""
        yield from merge(*self._own(lambda part: part.end_versions(after), itemgetter(0)), key=itemgetter(0))

    def unit_records(self, unit: int | None = None) -> Iterator[UnitRecord]:
        """Yield the records of all ended units (or of one), with their rows, in order."""
        if unit is not None:
            return self._part(unit).unit_records(unit)
        return merge(*self._own(Journal.unit_records, itemgetter(0)), key=itemgetter(0))

    def begun(self) -> set[int]:
        """Return the units with answers or calls that are not done: unfinished, failed or skipped ones."""
        return set(chain(*self._own(Journal.begun, int)))

    def call_columns(self, unit: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Yield the column names, then all tries at calls (of one unit) by match; players are numbered from 0."""
        if unit is not None:
            return self._part(unit).call_columns(unit)
        match = itemgetter(CALL_NAMES.index("match"))
        rows = merge(*self._own(lambda part: islice(part.call_columns(), 1, None), match), key=match)
        return chain([CALL_NAMES], rows)

    def assigned(self) -> Iterator[tuple[int, int, int, Any]]:
        """Yield unit, step, player and value of every answer by assignment, in order."""
        yield from merge(*self._own(Journal.assigned, itemgetter(0)), key=itemgetter(0))

    @property
    def questions(self) -> list[str]:
        """Return every distinct question, as canonical JSON."""
        return list(dict.fromkeys(text for part in self.parts for text in part.questions))

    def batches(self) -> Iterator[tuple[int, float, str, dict[str, Any], bytes]]:
        """Yield every batch event, shard by shard, with batch numbers that are unique over shards."""
        for place, part in enumerate(self.parts):
            for number, *event in part.batches():
                yield number * len(self.parts) + place, *event  # type: ignore[misc]

    def answered(self) -> set[bytes]:
        """The keys of all calls that got a reply."""
        return set[bytes]().union(*(part.answered() for part in self.parts))

    def unreported(self) -> Iterator[tuple[Any, ...]]:
        """Yield all tries of shards in which some lack a report of tokens or price."""
        return chain.from_iterable(part.unreported() for part in self.parts)

    def spent(self) -> dict[str, float]:
        """Totals over all calls."""
        each = [part.spent() for part in self.parts]
        return {name: sum(totals[name] for totals in each) for name in each[0]}
