"""The runs that a viewer shows: found by name, opened read-only, one reader at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostrom.engine.folder import JOURNAL, MANIFEST, Folder
from ostrom.errors import UsageError
from ostrom.studies.run import Run, open_run

MOST_OPEN = 6
"""Runs that stay open; each holds its plan in memory."""


class Shelf:
    """A folder of runs, or a single run."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"{root}: is no folder (give the folder of all runs, or a run)")
        self.single = _is_run(root)
        self.root = root.resolve()
        if not self.single and not any(map(_is_run, self._inside())):
            raise UsageError(f"{root}: holds no run (a run is a folder with {MANIFEST})")
        self._open: OrderedDict[str, tuple[object, Run, threading.Lock]] = OrderedDict()
        self._guard = threading.Lock()

    def _inside(self) -> list[Path]:
        return [self.root] if self.single else sorted(p for p in self.root.iterdir() if p.is_dir())

    def names(self) -> list[str]:
        """The names of all runs that are there now."""
        return [path.name for path in self._inside() if _is_run(path)]

    def folder(self, name: str) -> Folder:
        """The folder of a run; only what lies directly in the folder of runs has a name."""
        path = self.root if self.single and name == self.root.name else self.root / name
        inside = self.single or path.parent == self.root
        if not inside or name in ("", ".", "..") or path.name != name or not _is_run(path):
            raise UsageError(f"{name}: there is no such run")
        return Folder(path)

    @contextmanager
    def opened(self, name: str) -> Iterator[Run]:
        """A run, open for reading without the check of its integrity; it stays open for the next reader."""
        folder = self.folder(name)
        with self._guard:
            mark = _mark(folder)
            kept = self._open.pop(name, None)
            if kept is None or kept[0] != mark:
                if kept is not None:
                    kept[1].close()
                kept = (mark, open_run(folder.path, checked=False), threading.Lock())
            self._open[name] = kept
            while len(self._open) > MOST_OPEN:
                _, (_, old, busy) = self._open.popitem(last=False)
                with busy:
                    old.close()
            _, run, lock = kept
            lock.acquire()
        try:
            yield run
        finally:
            lock.release()

    def close(self) -> None:
        """Close what is open."""
        with self._guard:
            for _, run, busy in self._open.values():
                with busy:
                    run.close()
            self._open.clear()


def _is_run(path: Path) -> bool:
    return (path / MANIFEST).is_file() or (path / JOURNAL).is_file()


def _mark(folder: Folder) -> object:
    """What tells that a run must be opened anew: another manifest, another journal file, or more people."""
    marks = []
    for path in (folder.path / MANIFEST, folder.journal):
        try:
            there = path.stat()
            marks.append((there.st_ino, there.st_mtime_ns if path.name == MANIFEST else 0))
        except OSError:
            marks.append((0, 0))
    return marks
