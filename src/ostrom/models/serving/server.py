"""A model server of this machine, shared by all processes that use the same model in the same way.

The first user starts a keeper (``ostrom.models.serving.keeper``), which starts the server; later ones connect to it.
When the server dies or hangs in the middle of a study, the next call starts another one.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from ostrom.ground.errors import AccessRefused, ModelError, ServerFailed
from ostrom.ground.files import cache_folder
from ostrom.ground.terminal import say
from ostrom.models.failures import one_line
from ostrom.models.serving import keeper
from ostrom.models.serving.kinds import HOST, ServerPlan, make_view, short_hash

logger = logging.getLogger("ostrom.servers")
START = 900.0
"""Seconds that a server has to answer for the first time: large weights are read from slow disks."""
LOSSES = 3
"""So many servers in a row may be lost without a single reply."""
PORTS = 3
"""So many ports are tried."""
HEALTH = 20.0
"""Seconds in which a server that works says that it is well."""
PAUSE = 0.1
NEWS = 5.0
"""Seconds until a person is told that a server is starting; then whenever twice as many have passed."""
LARGEST_LOG = 16 << 20
_TAKEN = ("address already in use", "address in use", "couldn't bind", "errno 98", "errno 48")


class LocalServer:
    """The server of one plan, as one client uses it: started at the first call, left when the client closes."""

    def __init__(self, plan: ServerPlan, *, who: str, start: float = START) -> None:
        self.plan, self.who, self.start = plan, who, start
        words = json.dumps([plan.arguments(0), plan.settings.get("environment")])
        name = f"{plan.kind}-{short_hash(words)}"
        self.log = cache_folder("servers") / f"{name}.log"
        self._socket = _folder() / f"{name}.sock"
        self._link: socket.socket | None = None
        self._heard = b""
        self._facts: dict[str, Any] = {}
        self._starting: asyncio.Task[str] | None = None
        self._refusal: ModelError | None = None
        self._losses = 0

    @property
    def key(self) -> str:
        """The key that calls have to show."""
        return str(self._facts["key"])

    async def address(self) -> str:
        """The base URL of the server, once it answers; starts it where it does not run."""
        if self._refusal is not None:
            raise self._refusal
        if self._starting is None:
            self._starting = asyncio.create_task(self._begin())
        try:
            return await asyncio.shield(self._starting)
        except ModelError as error:
            self._refusal = self._refusal or error
            raise

    def answered(self) -> None:
        """Note that a call got a reply."""
        self._losses = 0

    async def look(self) -> None:
        """After a failed call: raise ServerFailed if the server is dead or hangs; the next call starts another one."""
        link, starting = self._link, self._starting
        if link is None or starting is None or not starting.done():
            return
        if self._ended() is None and await self._healthy(HEALTH):
            return
        if self._link is not link:
            return  # another call has seen it first
        status = self._ended()
        how = "hangs" if status is None else f"ended ({status})"
        await self._drop(end=True)
        self._losses += 1
        text = f"{self.who}: the server {how}; log: {self.log}"
        logger.warning("%s", text)
        if self._losses >= LOSSES:
            self._refusal = AccessRefused(f"{text}; {LOSSES} servers in a row gave no reply")
            raise self._refusal
        raise ServerFailed(text)

    async def close(self) -> None:
        """Leave the server; the last user waits until it has ended."""
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await self._drop()

    async def _begin(self) -> str:
        again = self._losses > 0
        for attempt in range(PORTS):
            status = await self._try()
            if status is None:
                return f"http://{HOST}:{self._facts['port']}/v1"
            tail = await asyncio.to_thread(last_line, self.log)
            await self._drop()
            if attempt + 1 < PORTS and (again or any(word in tail.lower() for word in _TAKEN)):
                continue
            break
        raise AccessRefused(f"{self.who}: the server {status}: {tail or 'it wrote nothing'}; log: {self.log}")

    async def _try(self) -> str | None:
        """Start or join a server and wait until it is well; returns how it failed."""
        joining = asyncio.create_task(asyncio.to_thread(self._join))
        try:
            await asyncio.shield(joining)
        except asyncio.CancelledError:
            await asyncio.gather(joining, return_exceptions=True)  # a thread cannot be cancelled
            raise
        begun = time.monotonic()
        reported = NEWS / 2
        while (passed := time.monotonic() - begun) < self.start:
            if passed >= 2 * reported:
                reported = passed
                say(f"{self.who}: its server has been starting for {passed:.0f} s; log: {self.log}")
            if (status := self._ended()) is not None:
                return f"ended at its start ({status})"
            if await self._healthy(PAUSE * 20) and self._ended() is None:
                return None
            await asyncio.sleep(PAUSE)
        await self._drop(end=True)
        return f"gave no sign of life within {self.start:g} s"

    def _join(self) -> None:
        """Connect to the keeper of this server; start one where there is none."""
        with (_folder() / "start.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for _ in range(2):
                if self._connected():
                    return
                self._spawn()
            if not self._connected():
                raise AccessRefused(f"{self.who}: the server could not be started; log: {self.log}")

    def _connected(self) -> bool:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link.settimeout(10.0)
        try:
            link.connect(str(self._socket))
            heard = b""
            while b"\n" not in heard:
                if not (data := link.recv(4096)):
                    raise ConnectionResetError
                heard += data
        except OSError:
            link.close()
            return False
        line, _, self._heard = heard.partition(b"\n")
        self._facts = json.loads(line)
        link.setblocking(False)
        self._link = link
        return True

    def _spawn(self) -> None:
        """Have a keeper start the server; returns once it listens."""
        plan, port, key = self.plan, free_port(), secrets.token_hex(24)
        if plan.kind == "transformers":
            make_view(Path(plan.model))
        command = plan.command(port)
        order = {
            "command": command,
            "environment": plan.variables(key),
            "log": str(self.log),
            "socket": str(self._socket),
            "port": port,
            "key": key,
            "grace": keeper.GRACE,
        }
        self.log.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.log.exists() and self.log.stat().st_size > LARGEST_LOG
        with self.log.open("wb" if fresh else "ab") as log:
            log.write(f"--- {datetime.now():%Y-%m-%d %H:%M:%S} {' '.join(command)}\n".encode())
            log.flush()
            logger.info("%s: starting %s (log: %s)", self.who, command[0], self.log)
            subprocess.run(
                [sys.executable, "-I", keeper.__file__],
                input=json.dumps(order).encode(),
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd="/",
                start_new_session=True,
                timeout=keeper.GRACE * 6,
                check=False,
            )

    def _ended(self) -> str | None:
        """How the server ended, if it did."""
        if self._link is None:
            return "it was left"
        try:
            while data := self._link.recv(4096):
                self._heard += data
        except BlockingIOError:
            return None
        except OSError:
            pass
        with suppress(ValueError, KeyError):
            code = int(json.loads(self._heard)["ended"])
            return f"signal {-code}" if code < 0 else f"status {code}"
        # The keeper was killed: nobody else ends the server where the system knows no parent-death signal.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(int(self._facts["group"]), signal.SIGKILL)
        return "its keeper was killed"

    async def _drop(self, *, end: bool = False) -> None:
        """Leave the server; ``end``: it hangs, and is ended for all who use it."""
        link, self._link, self._starting = self._link, None, None
        if link is not None:
            await asyncio.to_thread(_leave, link, end)

    async def _healthy(self, seconds: float) -> bool:
        """Whether the server says that it is well."""
        try:
            async with asyncio.timeout(seconds):
                reader, writer = await asyncio.open_connection(HOST, self._facts["port"])
                try:
                    writer.write(f"GET /health HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
                    return b" 200 " in await reader.readline()
                finally:
                    writer.close()
        except (OSError, TimeoutError, ValueError):
            return False


def _leave(link: socket.socket, end: bool) -> None:
    """Leave a keeper; it closes the connection of its last user when the server has ended."""
    with suppress(OSError), link:
        link.settimeout(keeper.GRACE * 3)
        if end:
            link.sendall(b"end")
        link.shutdown(socket.SHUT_WR)
        while link.recv(4096):
            pass


def _folder() -> Path:
    """The folder of sockets and locks: this user's alone."""
    folder = Path(tempfile.gettempdir()) / f"ostrom-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    facts = folder.lstat()
    if facts.st_uid != os.getuid() or facts.st_mode & 0o77 or folder.is_symlink():
        raise AccessRefused(f"{folder}: must be a folder that only you can open (remove it)")
    return folder


def free_port() -> int:
    """A port of loopback that nobody uses, and that the system gives to nobody else for a minute.

    A port with a closed connection rests: a server that names it may listen there, but it is not drawn again.
    """
    with socket.socket() as listener, socket.socket() as caller:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, 0))
        listener.listen(1)
        caller.connect(listener.getsockname())
        accepted, _ = listener.accept()
        port = int(listener.getsockname()[1])
        accepted.close()  # the side that closes first is the one that rests
        return port


def last_line(log: Path) -> str:
    """The last line of a log that says something, cut to fit into a message."""
    with suppress(OSError):
        lines = log.read_bytes()[-8192:].decode("utf-8", "replace").splitlines()
        for line in reversed(lines):
            if line.strip() and not line.startswith("---"):
                return one_line(line)[:200]
    return ""
