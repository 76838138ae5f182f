"""The process between Ostrom and a model server: it starts the server, and ends it when nobody uses it any more.

Every Ostrom process that uses the server holds a connection to the keeper's socket. The kernel closes that connection
when the process ends, however it ends: so no server outlives its last user, on any system. Where the system knows a
parent-death signal (Linux), the server also dies with the keeper; elsewhere its users end it.

This file is run by its path, in isolated mode, and imports the standard library alone.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

LOOK = 0.1
"""Seconds between two looks at the server."""
GRACE = 10.0
"""Seconds that the server has to end by itself once it is asked to."""
FIRST_USER = 30.0
"""Seconds within which somebody has to connect."""
PR_SET_PDEATHSIG = 1


class Keeper:
    """One server process, its process group, and the connections of those who use it."""

    def __init__(self, listener: socket.socket, order: dict[str, Any]) -> None:
        self.listener, self.order = listener, order
        self.users: set[socket.socket] = set()
        self.last: socket.socket | None = None
        """The connection of the last user, which learns by its end that the server has ended."""
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ)
        with Path(order["log"]).open("ab") as log:
            self.server = subprocess.Popen(
                order["command"],
                env=order["environment"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=parent_death_signal(),
            )

    def keep(self) -> None:
        """Serve the users until the server has ended or the last of them has gone."""
        patience = time.monotonic() + FIRST_USER
        while self.server.poll() is None and (self.users or time.monotonic() < patience):
            for key, _ in self.selector.select(LOOK):
                if key.fileobj is self.listener:
                    self._welcome(self.listener.accept()[0])
                    patience = 0.0
                else:
                    self._hear(key.fileobj)  # type: ignore[arg-type]
        self._finish()

    def _welcome(self, user: socket.socket) -> None:
        self.users.add(user)
        self.selector.register(user, selectors.EVENT_READ)
        self._tell(user, {"port": self.order["port"], "key": self.order["key"], "group": self.server.pid})

    def _hear(self, user: socket.socket) -> None:
        """A user asks for the end of a server that hangs, or has gone."""
        try:
            words = user.recv(64)
        except OSError:
            words = b""
        if words.startswith(b"end"):
            self._end_server()
        elif not words:
            self._forget(user)

    def _forget(self, user: socket.socket) -> None:
        self.users.discard(user)
        self.selector.unregister(user)
        if self.users:
            user.close()
        else:
            self.last = user

    def _finish(self) -> None:
        """End what is left, then tell the users how the server ended."""
        self.listener.close()
        with suppress(OSError):
            Path(self.order["socket"]).unlink()
        self._end_server()
        for user in [*self.users, *([self.last] if self.last else [])]:
            self._tell(user, {"ended": self.server.returncode})
            user.close()

    def _end_server(self) -> None:
        """Ask the server to end, then end its whole process group."""
        self._signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.server.wait(self.order["grace"])
        self._signal(signal.SIGKILL)
        self.server.wait()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):  # macOS says the latter of a group of zombies
            os.killpg(self.server.pid, number)

    def _tell(self, user: socket.socket, facts: dict[str, Any]) -> None:
        with suppress(OSError):
            user.sendall(json.dumps(facts).encode() + b"\n")


def parent_death_signal() -> Callable[[], object] | None:
    """What a child calls so that the system ends it with its parent; None where the system cannot."""
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    return lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def main() -> None:
    """Read an order, listen, go into the background and keep the server."""
    order = json.load(sys.stdin)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # Held until this process ends: two servers of one model would not fit into the memory of one device.
    lock = os.open(f"{order['socket']}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with suppress(FileNotFoundError):
        Path(order["socket"]).unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(order["socket"])
    listener.listen(128)
    if os.fork():
        os._exit(0)  # whoever started the keeper goes on once it listens
    os.setsid()
    keeper = Keeper(listener, order)
    signal.signal(signal.SIGTERM, lambda *_: keeper._signal(signal.SIGTERM))
    keeper.keep()


if __name__ == "__main__":
    main()
