"""The indexes of all runs that somebody looks at, each brought up to date by a process of its own.

A process, because replaying half a million decisions would hold up the pages; it gives way to others (nice) and ends
with the server. Where the folder of a run cannot be written to, its index lies in a temporary folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostrom.engine.folder import Folder
from ostrom.ground.errors import RunError
from ostrom.view.index import NAME, RunIndex, index_path

AGAIN = 2.0
"""Seconds before an indexer that has ended is started once more."""


class Indexers:
    """Starts indexers, and opens what they have made."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._running: dict[Path, tuple[subprocess.Popen[bytes], threading.Thread]] = {}
        self._begun: dict[Path, float] = {}
        self._problems: dict[Path, str] = {}
        self._spare: tempfile.TemporaryDirectory[str] | None = None

    @contextmanager
    def index(self, folder: Folder) -> Iterator[RunIndex | None]:
        """The index of a run as far as it has come; None where there is none yet. It is brought up to date."""
        where = self.path(folder)
        made: RunIndex | None = None
        if where.exists():
            try:
                made = RunIndex(where)
            except RunError:  # another version, or damaged: it is made anew
                made = None
        if made is None or not made.is_of(folder.journal) or not made.progress.complete:
            self.start(folder)
        if made is None:
            yield None
            return
        with made:
            yield made

    def problem(self, folder: Folder) -> str | None:
        """Why there is no index, in one line."""
        return self._problems.get(folder.path)

    def path(self, folder: Folder) -> Path:
        """Where the index of a run lies."""
        there = index_path(folder.path)
        if os.access(there if there.exists() else folder.path, os.W_OK):
            return there
        with self._guard:
            if self._spare is None:
                self._spare = tempfile.TemporaryDirectory(prefix="ostrom-view-")
            return Path(self._spare.name) / f"{abs(hash(str(folder.path.resolve()))):x}-{NAME}"

    def start(self, folder: Folder) -> None:
        """Start the indexer of a run, unless it is under way or has just ended."""
        where = self.path(folder)
        with self._guard:
            if folder.path in self._running:
                return
            if time.monotonic() - self._begun.get(folder.path, -AGAIN) < AGAIN:
                return
            self._begun[folder.path] = time.monotonic()
            child = subprocess.Popen(
                [sys.executable, "-m", "ostrom.view.indexing", str(folder.path), str(where)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
            ending = threading.Thread(target=self._await, args=(folder.path, child), daemon=True)
            self._running[folder.path] = child, ending
            ending.start()

    def _await(self, path: Path, child: subprocess.Popen[bytes]) -> None:
        """Wait for an indexer, so that it does not stay as a defunct process, and keep the last line it said."""
        told = child.communicate()[1].decode(errors="replace")
        line = told.strip().rpartition("\n")[2][:500]
        with self._guard:
            self._running.pop(path, None)
            self._problems.pop(path, None)
            if child.returncode and line:
                self._problems[path] = line

    def close(self) -> None:
        """End all indexers: what they have made so far is kept."""
        with self._guard:
            running = list(self._running.values())
        for child, _ in running:
            child.terminate()
        for _, ending in running:
            ending.join()
        if self._spare is not None:
            self._spare.cleanup()
