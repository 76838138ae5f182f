"""A guard process that ends the programs started by Ostrom when Ostrom dies, however it dies.

It reads process groups from a pipe that Ostrom alone can write: ``+GROUP`` when one begins, ``-GROUP`` when it has
ended. The kernel closes the pipe when Ostrom ends, and every group that is left is killed.

This file is run by its path, in isolated mode, and imports the standard library alone.
"""

import atexit
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

PR_SET_PDEATHSIG = 1


class GroupGuard:
    """The guard of this process, started with the first group."""

    def __init__(self) -> None:
        self.groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()

    def add(self, group: int) -> None:
        """Add a process group."""
        if self._owner != os.getpid():  # after a fork: the pipe belongs to the parent
            self.groups, self._process, self._owner = set(), None, os.getpid()
        self.groups.add(group)
        try:
            self._tell(b"+%d\n" % group)
        except BrokenPipeError:  # it was killed: start another one
            self.close()
            self._tell(b"".join(b"+%d\n" % one for one in self.groups))

    def remove(self, group: int) -> None:
        """Remove an ended process group."""
        if self._owner == os.getpid() and group in self.groups:
            self.groups.remove(group)
            with suppress(BrokenPipeError):
                self._tell(b"-%d\n" % group)

    def close(self) -> None:
        """End the guard, which kills all remaining groups."""
        if self._process is not None and self._owner == os.getpid():
            process, self._process = self._process, None
            assert process.stdin is not None
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()

    def _tell(self, line: bytes) -> None:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                bufsize=0,
                env={},
            )
            atexit.register(self.close)
        assert self._process.stdin is not None
        self._process.stdin.write(line)


def end_groups(lines: Iterable[bytes]) -> None:
    """Read added and removed groups until the input ends; then kill the remaining ones."""
    groups: set[int] = set()
    for line in lines:
        (groups.add if line.startswith(b"+") else groups.discard)(int(line[1:]))
    for group in groups:
        signal_group(group, signal.SIGKILL)


def signal_group(group: int, number: int) -> None:
    """Send a signal to all processes of a group, if there are any."""
    with suppress(ProcessLookupError, PermissionError):  # macOS raises the latter for a group of zombies
        os.killpg(group, number)


def parent_death_signal() -> Callable[[], object] | None:
    """Return a function for a child process, so that it dies with its parent thread; None if unsupported."""
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    return lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    end_groups(sys.stdin.buffer)
