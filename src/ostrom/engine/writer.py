"""The writer of a journal: one thread, group commit, and a tally of what has been acknowledged.

Whatever piled up while the last transaction was on its way to the disk becomes the next one, so the cost of
durability is shared by all matches that wait for it.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ostrom.engine.entries import CALL, UNIT, call_rows
from ostrom.engine.integrity import explain, sealed
from ostrom.engine.prompt_chains import PromptChains
from ostrom.ground.errors import RunError


class Writer:
    """Takes entries from the event loop in which it is made and writes them down in a thread of its own."""

    def __init__(
        self, path: Path, tally: Path, entries: int, connect: Callable[[], sqlite3.Connection]
    ) -> None:
        self._path, self._tally_path, self._connect = path, tally, connect
        self.entries = entries
        """How many entries are on the disk."""
        # Both are filled by the loop and emptied by the thread; a deque needs no lock for that.
        self._pending: deque[tuple[str, Any]] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._wake = threading.Event()
        self._stop = False
        self._failed: RunError | None = None
        self._packages = 0
        self._chains = PromptChains()
        there = path.stat()
        self._inode = (there.st_dev, there.st_ino)
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._write_forever, name="journal", daemon=True)
        self._thread.start()

    def put(self, statement: str, row: Any) -> None:
        """Queue an entry; it is on the disk after the next ``flush``."""
        if self._failed is not None:
            raise self._failed
        self._pending.append((statement, row))
        if not self._wake.is_set():  # setting an event costs far more than asking
            self._wake.set()

    @property
    def backlog(self) -> int:
        """How many entries wait to be written."""
        return len(self._pending)

    async def flush(self) -> None:
        """Wait until everything queued so far is on the disk."""
        if self._failed is not None:
            raise self._failed
        done = self._loop.create_future()
        self._waiting.append(done)
        if not self._wake.is_set():
            self._wake.set()
        if self._failed is not None:  # the thread has gone in between, and will not answer
            done.cancel()
            raise self._failed
        await done

    def close(self) -> None:
        """Write what is queued and stop."""
        self._stop = True
        self._wake.set()
        self._thread.join()

    def _write_forever(self) -> None:
        try:
            connection = self._connect()
            tally = os.open(self._tally_path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o644)
            os.pwrite(tally, b"%020d\n" % self.entries, 0)
            os.fsync(tally)
            # Mark the database unclosed, so that a copy without its WAL and tally is refused. The tally file exists
            # before the mark is set.
            self._mark(connection, closed=False)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._packages = connection.execute("SELECT coalesce(max(id), 0) FROM prompts").fetchone()[0]
        except (sqlite3.Error, OSError) as error:
            self._fail(RunError(explain(self._path, error)), [])
            return
        try:
            while self._write_some(connection, tally):
                pass
        finally:
            os.close(tally)
            connection.close()

    def _write_some(self, connection: sqlite3.Connection, tally: int) -> bool:
        """Write what is there by now, and tell those who wait; False in the end."""
        self._wake.wait()
        self._wake.clear()
        # Count the waiters first: their entries were queued before.
        waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
        entries = [self._pending.popleft() for _ in range(len(self._pending))]
        try:
            if entries:
                self._commit(connection, entries)
                os.pwrite(tally, b"%020d\n" % self.entries, 0)
                self.check_place()
        except Exception as error:  # whatever it is: those who wait must hear of it
            failure = error if isinstance(error, RunError) else RunError(explain(self._path, error))
            self._fail(failure, waiting)
            return False
        if waiting:
            self._loop.call_soon_threadsafe(_release, waiting, None)
        if self._stop and not self._pending:
            with suppress(sqlite3.Error):  # then it counts as not closed, which is all that is lost
                self._mark(connection, closed=True)
            return False
        return True

    def _commit(self, connection: sqlite3.Connection, entries: list[tuple[str, Any]]) -> None:
        groups: dict[str, list[Any]] = {}
        calls = [entry for statement, entry in entries if statement is CALL]
        for statement, entry in entries:
            if statement is not CALL:
                groups.setdefault(statement, []).append(sealed(entry))
        packages = self._packages
        for statement, rows in call_rows(calls, packages + 1, self._chains):
            groups.setdefault(statement, []).extend(rows)
            packages += statement is not CALL
        total = self.entries + sum(len(rows) for rows in groups.values())
        with connection:
            for statement, rows in groups.items():
                connection.executemany(statement, rows)
            connection.execute("UPDATE meta SET value=? WHERE key='entries'", (total,))
        self.entries, self._packages = total, packages
        for statement, entry in entries:
            if statement is UNIT:
                self._chains.forget(entry[0])

    @property
    def failed(self) -> bool:
        """Whether nothing more can be written."""
        return self._failed is not None

    def check_place(self) -> None:
        """Refuse to go on where the journal is no longer at its path: what is written would be lost."""
        try:
            found = self._path.stat()
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._inode:
            raise RunError(
                f"{self._path}: is gone: the run folder was removed or replaced while it was played"
            )

    def _mark(self, connection: sqlite3.Connection, *, closed: bool) -> None:
        with connection:
            connection.execute("UPDATE meta SET value=? WHERE key='closed'", (int(closed),))

    def _fail(self, error: RunError, waiting: list[asyncio.Future[None]]) -> None:
        self._failed = error
        self._loop.call_soon_threadsafe(self._tell, waiting, error)

    def _tell(self, waiting: list[asyncio.Future[None]], error: RunError) -> None:
        """Runs in the loop, so no waiter can be added while the waiters are checked."""
        _release([*waiting, *self._waiting], error)
        self._waiting.clear()


def _release(waiting: list[asyncio.Future[None]], error: RunError | None) -> None:
    for future in waiting:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
