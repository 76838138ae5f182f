"""`ostrom serve` as a whole: who listens where, and the jobs that go on beside the pages."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ostrom.engine.folder import Folder, identity
from ostrom.ground.errors import UsageError
from ostrom.people.admin import Admin
from ostrom.people.host import Host
from ostrom.people.participants import Participants
from ostrom.people.sources import LinkReader
from ostrom.web.security import Gatekeeper
from ostrom.web.server import LOCAL, listen_on, serve

PASSWORD = "OSTROM_ADMIN_PASSWORD"
SWEEP = 2.0
"""Seconds between looks at who has been gone for too long."""
FORGET = 3600.0
"""Seconds between looks at personal data that has been kept for long enough."""


@dataclass
class Listening:
    """The sockets of a server, bound before anything is written."""

    people: socket.socket
    admin: socket.socket
    origin: str | None
    password: str | None

    def __enter__(self) -> Listening:
        return self

    def __exit__(self, *_: object) -> None:
        self.people.close()
        self.admin.close()

    @property
    def base(self) -> str:
        """How participants reach the server."""
        return self.origin or f"http://127.0.0.1:{self.people.getsockname()[1]}"


def listening(host: str, port: int, admin_port: int | None, public: str | None) -> Listening:
    """Bind both ports; a public server needs its https address and a password for the admin page."""
    password = os.environ.get(PASSWORD) or None
    if public is not None:
        parts = urlsplit(public)
        if not re.fullmatch(r"https://[A-Za-z0-9.-]+(:[0-9]+)?/?", public) or not parts.hostname:
            raise UsageError(f"--public {public}: must be https://HOST, as browsers reach it")
        public = public.rstrip("/")
    if host not in LOCAL and (public is None or password is None):
        raise UsageError(
            f"--host {host}: other machines can reach this address; give --public https://HOST and set {PASSWORD}"
        )
    if password is not None and len(password) < 12:
        raise UsageError(f"{PASSWORD}: must have at least 12 characters")
    people = listen_on("127.0.0.1" if host == "localhost" else host, port)
    try:
        chosen = admin_port if admin_port is not None else (port + 1 if 0 < port < 65535 else 0)
        admin = listen_on("127.0.0.1", chosen)
    except BaseException:
        people.close()
        raise
    return Listening(people, admin, public, password)


async def serve_people(
    host: Host, folder: Folder, where: Listening, study: Path, say: Callable[[str], None], joins: int = 0
) -> None:
    """Serve participants and the admin page until a signal comes."""
    mark = identity(folder.manifest())
    port, admin_port = where.people.getsockname()[1], where.admin.getsockname()[1]
    reader = LinkReader(host.people.source, host.register.key, study, where.origin)
    gatekeeper = Gatekeeper(where.origin, {port}, joins_a_minute=joins, report=say)
    people = Participants(host, reader, gatekeeper, f"ostrom_{mark[:12]}")
    admin = Admin(host, reader, Gatekeeper(None, {admin_port}, report=say), where.password, where.base)
    if host.strangers:
        say(
            f"warning: {host.register.path} is older than the journal: it does not know {host.strangers} people who "
            "came (put back a newer copy); without their cookie they cannot come back, and they cannot be paid"
        )
    links = reader.links(where.base)
    say(
        f"participants: {links[0]}"
        + (f" (and {len(links) - 1} more: ostrom people {folder.path} links)" if links[1:] else "")
    )
    say(f"admin page:   http://127.0.0.1:{admin_port}/")
    beside = [asyncio.create_task(_sweep(host, say)), asyncio.create_task(admin.measure_lag())]

    def closing() -> None:
        people.closing.set()
        admin.closing.set()
        for live in host.live_visits.values():
            live.changed()

    try:
        await serve([(people.app(), where.people), (admin.app(), where.admin)], closing, beside)
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)


async def _sweep(host: Host, say: Callable[[str], None]) -> None:
    loop = asyncio.get_running_loop()
    forgot = loop.time() - FORGET
    while True:
        if loop.time() - forgot >= FORGET:
            forgot = loop.time()
            if (found := host.forget()).erasable:
                say(f"personal data of {len(found.erasable)} people was kept for long enough and is erased")
        await asyncio.sleep(SWEEP)
        await host.sweep()
