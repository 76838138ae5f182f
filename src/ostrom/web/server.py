"""The listeners: participants on one port, the admin page on another; both end at once when they are told to."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ostrom.ground.errors import UsageError

LOCAL = ("127.0.0.1", "::1", "localhost")
"""Names of this machine: whoever listens on another address is asked for a password."""

KEEP_ALIVE = 75
"""Seconds: people think for longer than the 5 seconds after which an idle connection is closed by default."""
HEAD_WITHIN = 20
"""Seconds in which the head of a request must have arrived."""
MOST_HEAD = 32_768
"""The largest head of a request."""
GRACE = 3
"""Seconds for requests that are under way when the server ends."""


class BoundedConnection(HttpToolsProtocol):
    """A connection whose requests begin in time and have heads of a bounded size."""

    _waiting: asyncio.TimerHandle | None = None
    _head = 0
    """Bytes that came since the last request had its whole head."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, but not for ever."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what comes before a request is whole."""
        between = self.cycle is None or self.cycle.response_complete
        if between:
            self._head += len(data)
            if self._waiting is None:
                self._wait()
        if self._head > MOST_HEAD:
            self.transport.write(b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\r\n")
            self.transport.close()
            return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """The head is there: the request is served."""
        self._stop_waiting()
        self._head = 0
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Close where the rest of a body that was refused would still come."""
        if self.cycle.more_body:
            self.transport.close()
        super().on_response_complete()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(HEAD_WITHIN, self.timeout_keep_alive_handler)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class _Listener(uvicorn.Server):
    """A listener that leaves signals to whoever runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


def listen_on(host: str, port: int) -> socket.socket:
    """A listening socket, or one line that says why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise UsageError(f"port {port} of {host} cannot be used: {error.strerror}") from None
    made.listen(2048)
    made.setblocking(False)
    return made


async def serve(
    apps: Sequence[tuple[Any, socket.socket]],
    closing: Callable[[], None],
    beside: Sequence[asyncio.Task[None]] = (),
) -> None:
    """Serve until SIGINT or SIGTERM, or until a job ``beside`` fails; ``closing`` ends the streams that are open."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(
            NotImplementedError, RuntimeError, ValueError
        ):  # only the main thread has signals
            loop.add_signal_handler(number, over.set)
    listeners = []
    for app, bound in apps:
        config = uvicorn.Config(
            app, timeout_keep_alive=KEEP_ALIVE, timeout_graceful_shutdown=GRACE, access_log=False,
            log_level="critical", server_header=False, date_header=False, proxy_headers=False, http=BoundedConnection,
            ws="none", lifespan="off", backlog=2048,
        )  # fmt: skip
        listeners.append((_Listener(config), bound))
    running = [asyncio.create_task(listener.serve(sockets=[bound])) for listener, bound in listeners]
    waiting = asyncio.create_task(over.wait())
    try:
        await asyncio.wait([waiting, *running, *beside], return_when=asyncio.FIRST_COMPLETED)
        for job in beside:
            if job.done():
                job.result()
    finally:
        closing()
        waiting.cancel()
        for listener, _ in listeners:
            listener.should_exit = True
        await asyncio.gather(*running, return_exceptions=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.remove_signal_handler(number)
