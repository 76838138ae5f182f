"""The runs of a viewer: found by name, opened read-only, one reader at a time."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ostrom.engine.folder import JOURNAL, MANIFEST, Folder
from ostrom.ground.errors import OstromError, RunError, UnknownName, UsageError
from ostrom.ground.files import read_plain
from ostrom.ground.registry import refresh
from ostrom.studies.run import Run, open_run
from ostrom.view.listing import MatchList

MOST_OPEN = 6
"""The most open runs; each holds its plan in memory."""
LOOK_AGAIN = 5.0
"""Seconds between checks for newly installed packages."""
AT_ONCE = 0.15
"""Seconds that a page waits for the list of matches before it shows what is there."""
SLICE = 0.05
"""Seconds of background reading before other readers get their turn."""
_looked = -LOOK_AGAIN


def read_run(path: Path) -> Run:
    """Open a run for reading, without the integrity check.

    Where it needs a part (a game, a strategy) that is not known, installed packages are looked for again.
    """
    global _looked
    try:
        return open_run(path, checked=False)
    except UnknownName:
        if time.monotonic() - _looked < LOOK_AGAIN:
            raise
        _looked = time.monotonic()
        refresh()
        return open_run(path, checked=False)


class RunsFolder:
    """A folder of runs, or a single run."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"{root}: is no folder (give the folder of all runs, or a run)")
        self.single = _is_run(root)
        self.root = root.resolve()
        if not self.single and not any(map(_is_run, self._inside())):
            raise UsageError(f"{root}: holds no run (a run is a folder with {MANIFEST})")
        self._open: OrderedDict[str, OpenRun] = OrderedDict()
        self._guard = threading.Lock()
        self._filling: dict[str, threading.Thread] = {}
        self._closing = False

    def _inside(self) -> list[Path]:
        return [self.root] if self.single else sorted(p for p in self.root.iterdir() if p.is_dir())

    def names(self) -> list[str]:
        """The names of all runs that are there now."""
        return [path.name for path in self._inside() if _is_run(path)]

    def folder(self, name: str) -> Folder:
        """Return the folder of a run; only direct children of the folder of runs have names."""
        path = self.root if self.single and name == self.root.name else self.root / name
        outside = not self.single and path.parent != self.root
        if outside or name in ("", ".", "..") or path.name != name or not _is_run(path):
            raise UsageError(f"{name[:200]}: there is no such run")
        return Folder(path)

    @contextmanager
    def opened(self, name: str) -> Iterator[Run]:
        """Open a run for reading, without the integrity check; it stays open for the next reader."""
        with self._open_entry(name) as entry:
            yield entry.run

    @contextmanager
    def match_list(self, name: str, seconds: float = AT_ONCE) -> Iterator[MatchList]:
        """Return the matches of a run read within this many seconds; the rest is read in the background."""
        with self._open_entry(name) as entry:
            entry.matches = entry.matches or MatchList(entry.run)
            complete = entry.matches.update(seconds)
            yield entry.matches
        with self._guard:
            if complete or name in self._filling or self._closing:
                return
            self._filling[name] = threading.Thread(target=self._fill, args=(name,), daemon=True)
            self._filling[name].start()

    def _fill(self, name: str) -> None:
        """Read the rest of a list in slices, so that pages can be drawn in between."""
        complete = False
        with suppress(OstromError):
            while not complete and not self._closing:
                began = time.monotonic()
                with self._open_entry(name) as entry:  # slow for many shards
                    complete = entry.matches is None or entry.matches.update(max(SLICE, time.monotonic() - began))
                time.sleep(SLICE / 10)
        with self._guard:
            self._filling.pop(name, None)

    @contextmanager
    def _open_entry(self, name: str) -> Iterator[OpenRun]:
        folder = self.folder(name)
        with self._guard:
            entry = self._open.pop(name, None)
            if entry is None or entry.mark != _mark(folder):
                self._leave(entry)
                entry = OpenRun(read_run(folder.path))
                entry.mark = _mark(folder)
            self._open[name] = entry
            entry.readers += 1
            while len(self._open) > MOST_OPEN:
                self._leave(self._open.popitem(last=False)[1])
        try:
            with entry.turn:  # outside the guard, so that readers of other runs do not wait
                yield entry
        finally:
            with self._guard:
                entry.readers -= 1
                if entry.left:
                    self._leave(entry)

    def _leave(self, entry: OpenRun | None) -> None:
        """Close a run when its last reader has finished."""
        if entry is not None:
            entry.left = True
            if not entry.readers:
                entry.run.close()
                if entry.matches is not None:
                    entry.matches.close()

    def close(self) -> None:
        """Close what is open."""
        self._closing = True
        for thread in list(self._filling.values()):
            thread.join()
        with self._guard:
            for entry in self._open.values():
                self._leave(entry)
            self._open.clear()


@dataclass
class OpenRun:
    """An open run and its readers."""

    run: Run
    mark: object = None
    matches: MatchList | None = None
    turn: threading.Lock = field(default_factory=threading.Lock)
    readers: int = 0
    left: bool = False


def _is_run(path: Path) -> bool:
    try:
        return (path / MANIFEST).is_file() or (path / JOURNAL).is_file()
    except OSError:  # such as a name that is too long
        return False


def _mark(folder: Folder) -> object:
    """Return a value that changes when a run must be reopened: manifest, journal file or number of people."""
    marks: list[object] = []
    with suppress(RunError):
        for part in {folder.path: folder, **{part.path: part for part in folder.parts}}.values():
            for path in (part.path / MANIFEST, part.journal):
                with suppress(OSError):
                    there = path.stat()
                    marks.append((str(path), there.st_ino, there.st_mtime_ns if path.name == MANIFEST else 0))
            with suppress(OSError, RunError):  # matches of people are created during play
                marks.append(read_plain(part.journal.with_name(part.journal.name + ".tally")))
    return marks
