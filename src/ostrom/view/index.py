"""The full-text index of a run, a database in the user's cache folder: which calls hold a word.

The index is derived from the journals of the run and can be deleted at any time. Only ``index_writer`` writes it, in a
process of low priority (nice) that ends with the server. A page opens a ``RunIndex``, which only reads, and shows how
far the index has come (``progress``); a search misses the calls that are not indexed yet, and is never wrong. No index
is kept in the folder of a run: the folder may come from a stranger, and so would the index in it. Everything else that
pages show comes from the journal and its rows.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from ostrom.engine.folder import Folder
from ostrom.engine.integrity import DAMAGE, connect_read_only
from ostrom.engine.shards import CallCursor, entries_in
from ostrom.ground.errors import RunError
from ostrom.ground.files import cache_folder, require_regular_file

VERSION = 7
"""The version of the tables and their contents; an index of another version is rebuilt."""


@dataclass(frozen=True)
class IndexProgress:
    """How many calls of a run are indexed, of how many."""

    calls: int = 0
    of_calls: int = 0
    problem: str | None = None
    """Why the indexer cannot go on, in one line."""
    once: bool = False
    """Whether the index was up to date at least once; a new index has 0 of 0 calls, which is not complete."""

    @property
    def complete(self) -> bool:
        """Whether the index holds all calls that the journals had when the indexer looked last."""
        return self.once and self.calls >= self.of_calls and self.problem is None


class RunIndex:
    """The index of a run, opened for reading. Open one per request: it takes a millisecond."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            require_regular_file(path)
            self.connection = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False, timeout=5
            )
            self.connection.execute("PRAGMA trusted_schema=OFF")
            self.connection.text_factory = partial(str, encoding="utf-8", errors="replace")
            self.connection.execute("BEGIN")  # one state for all queries, while the indexer goes on
            self._meta = dict(self.connection.execute("SELECT key, value FROM meta"))
            if self._meta.get("version") != VERSION or schema_of(self.connection) != own_schema():
                raise RunError(f"{path}: is an index of another version (delete it: it is made anew)")
        except DAMAGE as error:
            raise RunError(f"{path}: the index cannot be read ({' '.join(str(error).split())})") from None

    def __enter__(self) -> RunIndex:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.connection.close()

    @property
    def progress(self) -> IndexProgress:
        """How many calls this index holds, of how many, and the problem at which its indexer stopped."""
        problem = self._meta.get("problem")
        ((calls, of_calls),) = self._all(
            "SELECT coalesce(sum(calls - before), 0), coalesce(sum(of_calls - before), 0) FROM journals"
        )
        return IndexProgress(calls, of_calls, None if problem is None else str(problem), self.entries >= 0)

    @property
    def entries(self) -> int:
        """How many entries the journals had when the index was last brought up to date; -1 if it never was."""
        entries = self._meta.get("entries")
        return entries if type(entries) is int else -1

    @property
    def folder(self) -> Path | None:
        """The folder of the run that is indexed; None if the index does not name it."""
        stored = self._meta.get("folder")
        return Path(os.fsdecode(stored)) if isinstance(stored, bytes) else None

    def is_of(self, folder: Folder) -> bool:
        """Whether the index was made from this run's journal, or the journals of its shards, and is up to date."""
        entries = 0
        try:
            for part, cursor in zip(
                folder.parts, self._all("SELECT calls, seal FROM journals ORDER BY number"), strict=True
            ):
                with closing(connect_read_only(part.journal)) as journal:
                    if not CallCursor(*cursor).look(journal):
                        return False
                    entries += entries_in(journal)
        except (RunError, ValueError, TypeError, *DAMAGE):  # also more or fewer shards, or no number of entries
            return False
        return entries == self.entries

    def cells(self) -> dict[int, dict[str, Any]]:
        """The cells that occur, by number, each as a mapping from factors to levels."""
        return {number: orjson.loads(levels) for number, levels in self._all("SELECT id, levels FROM cells")}

    def speakers(self) -> dict[int, tuple[int, str]]:
        """The cell and agent of every voice (an agent in a cell), by the number of the voice."""
        return {number: (cell, agent) for number, cell, agent in self._all("SELECT id, cell, agent FROM voices")}

    def calls_with(self, hits: str, agent: str | None, cell: int | None) -> Iterator[tuple[int, int]]:
        """Each call in the column ``id`` of an SQL query with its voice, in order; of one agent or cell if given."""
        return iter(self._of(hits, "DISTINCT calls.id, calls.voice", "ORDER BY calls.id", agent, cell))

    def counted(self, hits: str, agent: str | None, cell: int | None) -> dict[int, int]:
        """How many calls in the column ``id`` of an SQL query each voice has; of one agent or cell if given."""
        return dict(self._of(hits, "calls.voice, count(DISTINCT calls.id)", "GROUP BY calls.voice", agent, cell))

    def _of(self, hits: str, columns: str, order: str, agent: str | None, cell: int | None) -> list[tuple[Any, ...]]:
        return self._all(
            f"SELECT {columns} FROM ({hits}) AS hits JOIN calls ON calls.id = hits.id "
            "JOIN voices ON voices.id = calls.voice WHERE (:agent IS NULL OR voices.agent = :agent) "
            f"AND (:cell IS NULL OR voices.cell = :cell) {order}",
            {"agent": agent, "cell": cell},
        )

    def _all(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        try:
            return self.connection.execute(query, values).fetchall()
        except DAMAGE as error:
            raise RunError(
                f"{self.path}: the index cannot be read ({' '.join(str(error).split())}); delete it: it is made anew"
            ) from None


def index_path(folder: Path) -> Path:
    """The path of a run's index in the user's cache folder."""
    return cache_folder("view") / f"{blake2b(os.fsencode(folder.resolve()), digest_size=16).hexdigest()}.db"


def forget_gone() -> None:
    """Delete the indexes of runs whose folder no longer exists: the words of a run should go with it."""
    for path in cache_folder("view").glob("*.db"):
        with suppress(RunError, OSError), RunIndex(path) as index:
            if index.folder is not None and not index.folder.exists():
                remove(path)


def remove(path: Path) -> None:
    """Delete an index with its write-ahead log."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def schema_of(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """The name and the SQL of every table in an index, sorted by name."""
    return [
        (str(name), str(sql))
        for name, sql in connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
    ]


def schema_text() -> str:
    """The SQL that creates the tables of an index."""
    return files("ostrom.view").joinpath("index.sql").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def own_schema() -> list[tuple[str, str]]:
    """The name and the SQL of every table in an index of this version; a file with others was not written by Ostrom."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema_text())
        return schema_of(connection)


LOOK_AGAIN = 10.0
"""The fewest seconds between two checks whether an index is up to date, while pages of its run are read."""
AGAIN = 2.0
"""The fewest seconds between two starts of the indexer of one run."""


class Indexers:
    """Starts the indexer processes of runs, and opens the indexes that they write."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._running: dict[Path, tuple[subprocess.Popen[bytes], threading.Thread]] = {}
        self._begun: dict[Path, float] = {}
        self._problems: dict[Path, str] = {}
        self._woken: dict[Path, float] = {}
        self._spare: tempfile.TemporaryDirectory[str] | None = None
        forget_gone()

    @contextmanager
    def index(self, folder: Folder) -> Iterator[RunIndex | None]:
        """Open a run's index as far as it is written (None without one), and start the indexer if it is behind."""
        where = self.path(folder)
        existing: RunIndex | None = None
        with suppress(RunError):  # another version, or damaged: it is made anew
            existing = RunIndex(where) if where.exists() else None
        if existing is None or not existing.is_of(folder) or not existing.progress.complete:
            self.start(folder)
        with existing or nullcontext() as index:
            yield index

    def refresh(self, folder: Folder) -> None:
        """Bring a run's index up to date while other pages of the run are read, so that a search finds all words."""
        now = time.monotonic()
        if now - self._woken.get(folder.path, -LOOK_AGAIN) >= LOOK_AGAIN:
            self._woken[folder.path] = now
            with self.index(folder):
                pass

    def problem(self, folder: Folder) -> str | None:
        """Why the last indexer of a run failed, in one line; None if it did not."""
        return self._problems.get(folder.path)

    def path(self, folder: Folder) -> Path:
        """The path of a run's index: in the user's cache folder, or in a temporary one if that is not writable."""
        there = index_path(folder.path)
        with suppress(OSError):
            there.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.access(there.parent, os.W_OK):
                return there
        with self._guard:
            if self._spare is None:
                self._spare = tempfile.TemporaryDirectory(prefix="ostrom-view-")
            return Path(self._spare.name) / there.name

    def start(self, folder: Folder) -> None:
        """Start the indexer of a run, unless it is running or was started less than ``AGAIN`` seconds ago."""
        where = self.path(folder)
        with self._guard:
            if folder.path in self._running or time.monotonic() - self._begun.get(folder.path, -AGAIN) < AGAIN:
                return
            self._begun[folder.path] = time.monotonic()
            child = subprocess.Popen(
                [sys.executable, "-m", "ostrom.view.index_writer", str(folder.path), str(where)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
            self._running[folder.path] = (
                child,
                threading.Thread(target=self._await, args=(folder.path, child), daemon=True),
            )
            self._running[folder.path][1].start()

    def _await(self, path: Path, child: subprocess.Popen[bytes]) -> None:
        """Wait for an indexer to end, so that no defunct process stays; if it failed, keep its last error line."""
        line = child.communicate()[1].decode(errors="replace").strip().rpartition("\n")[2][:500]
        with self._guard:
            self._running.pop(path, None)
            self._problems.pop(path, None)
            if child.returncode and line:
                self._problems[path] = line

    def close(self) -> None:
        """Terminate all indexers and wait for them; the calls indexed so far stay in the cache folder."""
        with self._guard:
            running = list(self._running.values())
        for child, _ in running:
            child.terminate()
        for _, ending in running:
            ending.join()
        if self._spare is not None:
            self._spare.cleanup()
