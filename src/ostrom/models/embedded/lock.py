"""A lock between processes that the system itself releases when its holder dies."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WAIT = 0.2


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Wait until no other process is inside; polls, so that Ctrl-C works while waiting."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        while not _taken(handle):
            time.sleep(WAIT)
        yield
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _taken(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _taken(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
