"""`ostrom view` as a whole: where it listens, and the jobs beside the pages."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path

from ostrom.ground.errors import UsageError
from ostrom.view.shelf import Shelf
from ostrom.view.viewer import Viewer
from ostrom.web.security import Gatekeeper
from ostrom.web.server import LOCAL, listen_on, serve

PASSWORD = "OSTROM_VIEW_PASSWORD"
LEAST = 12
"""Characters of a password."""


def bound(host: str, port: int) -> tuple[socket.socket, str | None]:
    """The listening socket and the password; an address that other machines reach needs one."""
    password = os.environ.get(PASSWORD) or None
    if host not in LOCAL and password is None:
        raise UsageError(f"--host {host}: other machines can reach this address; set {PASSWORD}")
    if password is not None and len(password) < LEAST:
        raise UsageError(f"{PASSWORD}: must have at least {LEAST} characters")
    return listen_on("127.0.0.1" if host == "localhost" else host, port), password


def address_of(listening: socket.socket) -> str:
    """How a browser on this machine reaches the server."""
    host, port = listening.getsockname()[:2]
    inside = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{inside}:{port}/"


async def serve_view(
    root: Path,
    listening: socket.socket,
    password: str | None,
    names: tuple[str, ...],
    say: Callable[[str], None],
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve until a signal comes; ``names`` are further names under which browsers reach the server."""
    shelf = Shelf(root)
    host, port = listening.getsockname()[:2]
    gatekeeper = Gatekeeper(None, {port}, report=say)
    for name in (*names, *(() if host in LOCAL or host in ("0.0.0.0", "::") else (host,))):
        known = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
        gatekeeper.hosts.add(known.lower())
        gatekeeper.origins.add(f"http://{known}".lower())
    viewer = Viewer(shelf, gatekeeper, password)
    viewer.may_act = viewer.may_act or host in LOCAL
    beside = [asyncio.create_task(viewer.watching.look_on()), asyncio.create_task(viewer.watching.check_on())]
    ready()
    try:
        await serve([(viewer.app(), listening)], viewer.closing.set, beside)
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        viewer.jobs.close()
        viewer.indexers.close()
        await viewer.figures.close()
        shelf.close()
