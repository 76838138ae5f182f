"""The listeners: participants on one port, the admin page on another; both end at once when they are told to."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import uvicorn

from ostrom.errors import UsageError

KEEP_ALIVE = 75
"""Seconds: people think for longer than the 5 seconds after which an idle connection is closed by default."""
GRACE = 3
"""Seconds for requests that are under way when the server ends."""


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


async def serve(apps: Sequence[tuple[Any, socket.socket]], closing: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM; ``closing`` ends the streams that are open, which would go on for ever."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(
            NotImplementedError, RuntimeError, ValueError
        ):  # only the main thread has signals
            loop.add_signal_handler(number, over.set)
    listeners = []
    for app, bound in apps:
        config = uvicorn.Config(
            app, timeout_keep_alive=KEEP_ALIVE, timeout_graceful_shutdown=GRACE, access_log=False, log_level="error",
            server_header=False, date_header=False, proxy_headers=False, http="httptools", ws="none", lifespan="off",
            backlog=2048, h11_max_incomplete_event_size=None,
        )  # fmt: skip
        listeners.append((_Listener(config), bound))
    running = [asyncio.create_task(listener.serve(sockets=[bound])) for listener, bound in listeners]
    waiting = asyncio.create_task(over.wait())
    try:
        await asyncio.wait([waiting, *running], return_when=asyncio.FIRST_COMPLETED)
    finally:
        closing()
        waiting.cancel()
        for listener, _ in listeners:
            listener.should_exit = True
        await asyncio.gather(*running, return_exceptions=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.remove_signal_handler(number)
