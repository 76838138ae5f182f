"""A model server of this machine: a child of this process, shared by the clients that use one model in the same way.

The first user starts the server, the last one ends it. When it dies or hangs in the middle of a study, the next call
starts another one. A guard process kills what is left of it when this process is killed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from ostrom.ground.errors import AccessRefused, ModelError, ServerFailed
from ostrom.ground.files import cache_folder
from ostrom.ground.process_groups import GroupGuard, signal_group
from ostrom.ground.terminal import say
from ostrom.models.failures import one_line
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
GRACE = 10.0
"""Seconds that a server has to end by itself once it is asked to."""
PAUSE = 0.1
NEWS = 5.0
"""Seconds until a person is told that a server is starting; then whenever twice as many have passed."""
LARGEST_LOG = 16 << 20
_TAKEN = ("address already in use", "address in use", "couldn't bind", "errno 98", "errno 48")
_lock = threading.Lock()
"""Held while a server starts or ends: two servers of one model would not fit into the memory of one device."""
_running: dict[str, ServerProcess] = {}
_guard = GroupGuard()


class ServerProcess:
    """A server that runs, in a process group of its own, and how many clients use it."""

    def __init__(self, plan: ServerPlan, log: Path, who: str) -> None:
        self.port, self.key, self.users = free_port(), secrets.token_hex(24), 0
        if plan.kind == "transformers":
            make_view(Path(plan.model))
        command = plan.command(self.port)
        log.parent.mkdir(parents=True, exist_ok=True)
        fresh = log.exists() and log.stat().st_size > LARGEST_LOG
        with log.open("wb" if fresh else "ab") as output:
            output.write(f"--- {datetime.now():%Y-%m-%d %H:%M:%S} {' '.join(command)}\n".encode())
            output.flush()
            logger.info("%s: starting %s (log: %s)", who, command[0], log)
            self.process = subprocess.Popen(
                command,
                env=plan.variables(self.key),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd="/",
                start_new_session=True,
            )
        try:
            _guard.add(self.process.pid)
        except OSError:
            self.end()
            raise

    def outcome(self) -> str | None:
        """How the server ended, if it did."""
        code = self.process.poll()
        return None if code is None else f"signal {-code}" if code < 0 else f"status {code}"

    def end(self) -> None:
        """Ask the server to end, then end its whole process group."""
        signal_group(self.process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        signal_group(self.process.pid, signal.SIGKILL)
        self.process.wait()
        _guard.remove(self.process.pid)


class LocalServer:
    """The server of one plan, as one client uses it: started at the first call, left when the client closes."""

    def __init__(self, plan: ServerPlan, *, who: str, start: float = START) -> None:
        self.plan, self.who, self.start = plan, who, start
        words = json.dumps([plan.arguments(0), plan.settings.get("environment")])
        name = f"{plan.kind}-{short_hash(words)}"
        self.log = cache_folder("servers") / f"{name}.log"
        self._name = name
        self._process: ServerProcess | None = None
        self._starting: asyncio.Task[str] | None = None
        self._refusal: ModelError | None = None
        self._losses = 0

    @property
    def key(self) -> str:
        """The key that calls have to show."""
        assert self._process is not None
        return self._process.key

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
        process, starting = self._process, self._starting
        if process is None or starting is None or not starting.done():
            return
        if process.outcome() is None and await _healthy(process.port, HEALTH):
            return
        if self._process is not process:
            return  # another call has seen it first
        status = process.outcome()
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
            process, status = await self._try()
            if status is None:
                return f"http://{HOST}:{process.port}/v1"
            tail = await asyncio.to_thread(last_line, self.log)
            await self._drop()
            if attempt + 1 < PORTS and (again or any(word in tail.lower() for word in _TAKEN)):
                continue
            break
        raise AccessRefused(f"{self.who}: the server {status}: {tail or 'it wrote nothing'}; log: {self.log}")

    async def _try(self) -> tuple[ServerProcess, str | None]:
        """Start or join a server and wait until it is well; returns it and how it failed."""
        joining = asyncio.create_task(asyncio.to_thread(self._join))
        try:
            process = await asyncio.shield(joining)
        except asyncio.CancelledError:
            await asyncio.gather(joining, return_exceptions=True)  # a thread cannot be cancelled
            raise
        begun = time.monotonic()
        reported = NEWS / 2
        while (passed := time.monotonic() - begun) < self.start:
            if passed >= 2 * reported:
                reported = passed
                say(f"{self.who}: its server has been starting for {passed:.0f} s; log: {self.log}")
            if (status := process.outcome()) is not None:
                return process, f"ended at its start ({status})"
            if await _healthy(process.port, PAUSE * 20) and process.outcome() is None:
                return process, None
            await asyncio.sleep(PAUSE)
        await self._drop(end=True)
        return process, f"gave no sign of life within {self.start:g} s"

    def _join(self) -> ServerProcess:
        """Use the server of this plan; start one where none runs."""
        with _lock:
            process = _running.get(self._name)
            if process is not None and process.outcome() is not None:
                process.end()  # what it started may go on
            if process is None or process.outcome() is not None:
                try:
                    process = _running[self._name] = ServerProcess(self.plan, self.log, self.who)
                except OSError as error:
                    text = f"{self.who}: the server could not be started: {error.strerror}; log: {self.log}"
                    raise AccessRefused(text) from None
            process.users += 1
            self._process = process
            return process

    async def _drop(self, *, end: bool = False) -> None:
        """Leave the server; ``end``: it hangs, and is ended for all who use it."""
        process, self._process, self._starting = self._process, None, None
        if process is not None:
            await asyncio.to_thread(self._leave, process, end)

    def _leave(self, process: ServerProcess, end: bool) -> None:
        with _lock:
            process.users -= 1
            if (end or not process.users) and _running.get(self._name) is process:
                _running.pop(self._name).end()


async def _healthy(port: int, seconds: float) -> bool:
    """Whether the server at a port says that it is well."""
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                writer.write(f"GET /health HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
                return b" 200 " in await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError, ValueError):
        return False


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
