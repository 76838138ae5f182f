"""HTTP servers that stop at once on request, their passwords, and the static files of the pages."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ostrom.ground.errors import UsageError
from ostrom.web.security import Refused

KINDS = {
    "style.css": "text/css",
    "page.js": "text/javascript",
    "icon.svg": "image/svg+xml",
    "view.css": "text/css",
    "view.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "htmx.LICENSE.txt": "text/plain",
}


async def static(request: Request) -> Response:
    """Serve a static file listed in ``KINDS`` by its name."""
    name = str(request.path_params["name"])
    if name not in KINDS:
        raise Refused(404, "There is no such file.")
    return Response(_content(name), media_type=KINDS[name], headers={"cache-control": "public, max-age=300"})


@lru_cache(maxsize=len(KINDS))
def _content(name: str) -> bytes:
    return files("ostrom.web").joinpath("static", name).read_bytes()


LOCAL = ("127.0.0.1", "::1", "localhost")
"""Names of this machine: a server on another address needs a password."""

KEEP_ALIVE = 75
"""Seconds before an idle connection is closed: people think longer than the default of 5."""
HEAD_WITHIN = 20
"""Seconds within which the head of a request must arrive."""
MOST_HEAD = 32_768
"""The largest request head, in bytes."""
GRACE = 3
"""Seconds for open requests when the server ends."""
ENDING = (signal.SIGINT, signal.SIGTERM)
NO_SIGNALS = (NotImplementedError, RuntimeError, ValueError)
"""Exceptions of setting a signal handler outside the main thread."""
LEAST_PASSWORD = 12
"""The shortest password, in characters."""


class BoundedConnection(HttpToolsProtocol):
    """A connection with limits on the time and size of request heads."""

    _waiting: asyncio.TimerHandle | None = None
    _head = 0
    """The number of bytes since the last complete request head."""
    _last = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout for the first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count the bytes of a request's head; refuse one that is too large."""
        if self.cycle is None or self.cycle.response_complete:
            end = (self._last + data).find(b"\r\n\r\n")  # what follows is the body, which is limited elsewhere
            self._head += len(data) if end < 0 else end
            self._last = data[-3:]
            if self._waiting is None:
                self._wait()
        if self._head > MOST_HEAD:
            self.transport.write(b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\r\n")
            self.transport.close()
            return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Stop the timeout once the head is complete."""
        self._stop_waiting()
        self._head = 0
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Close the connection if part of a refused body would still arrive."""
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
    """A server that leaves signal handling to its caller."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


def password_in(variable: str, host: str = "localhost") -> str | None:
    """Return the password in an environment variable; refused if too short, or missing for a public ``host``."""
    password = os.environ.get(variable) or None
    if password is not None and len(password) < LEAST_PASSWORD:
        raise UsageError(f"{variable}: must have at least {LEAST_PASSWORD} characters")
    if password is None and host not in LOCAL:
        raise UsageError(f"--host {host}: other machines can reach this address; set {variable}")
    return password


def listen_on(host: str, port: int) -> socket.socket:
    """Return a listening socket; a port that cannot be used is refused in one line."""
    host = "127.0.0.1" if host == "localhost" else host
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise UsageError(f"port {port} of {host} cannot be used: {error.strerror}") from None
    listener.listen(2048)
    listener.setblocking(False)
    return listener


def _listener(app: Any, **settings: Any) -> _Listener:
    return _Listener(
        uvicorn.Config(
            app, timeout_keep_alive=KEEP_ALIVE, timeout_graceful_shutdown=GRACE, access_log=False,
            log_level="critical", server_header=False, date_header=False, proxy_headers=False, http=BoundedConnection,
            backlog=2048, **{"ws": "none", "lifespan": "off", **settings},
        )
    )  # fmt: skip


@contextlib.asynccontextmanager
async def serving(app: Any, bound: socket.socket) -> AsyncIterator[None]:
    """Serve an application beside other work of the event loop; signals are left to the caller."""
    listener = _listener(app)
    running = asyncio.create_task(listener.serve(sockets=[bound]))
    try:
        yield
    finally:
        listener.should_exit = True
        await asyncio.gather(running, return_exceptions=True)


async def serve(
    apps: Sequence[tuple[Any, socket.socket]],
    closing: Callable[[], None] = lambda: None,
    beside: Sequence[asyncio.Task[None]] = (),
    **settings: Any,
) -> None:
    """Serve until SIGINT or SIGTERM, or until a job ``beside`` fails; ``closing`` ends open streams.

    The jobs are cancelled at the end. ``settings`` are those of uvicorn that differ, such as WebSockets.
    """
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    with contextlib.suppress(*NO_SIGNALS):
        for number in ENDING:
            loop.add_signal_handler(number, over.set)
    listeners = [(_listener(app, **settings), bound) for app, bound in apps]
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
        for job in beside:
            job.cancel()
        for listener, _ in listeners:
            listener.should_exit = True
        await asyncio.gather(*running, *beside, return_exceptions=True)
        with contextlib.suppress(*NO_SIGNALS):
            for number in ENDING:
                loop.remove_signal_handler(number)
