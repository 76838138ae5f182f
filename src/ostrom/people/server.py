"""`ostrom serve` as a whole: who listens where, and the jobs that go on beside the pages."""

import asyncio
import re
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ostrom.engine.folder import Folder, identity
from ostrom.ground.errors import UsageError
from ostrom.ground.words import how_many
from ostrom.people.admin import Admin
from ostrom.people.host import Host
from ostrom.people.participants import Participants
from ostrom.people.pictures import read_pictures
from ostrom.people.sources import LinkReader
from ostrom.web.security import Gatekeeper
from ostrom.web.server import LOCAL, listen_on, password_in, serve

PASSWORD = "OSTROM_ADMIN_PASSWORD"
SWEEP = 2.0
"""Seconds between looks at who has been gone for too long."""
FORGET = 3600.0
"""Seconds between looks at personal data that has been kept for long enough."""


@dataclass(frozen=True)
class Listening:
    """The sockets of a server, bound before anything is written."""

    people: socket.socket
    admin: socket.socket
    origin: str | None
    password: str | None
    """The researcher's own; None, on this machine alone: a random one."""

    @property
    def base(self) -> str:
        """How participants reach the server."""
        return self.origin or f"http://127.0.0.1:{self.people.getsockname()[1]}"


@contextmanager
def listening(host: str, port: int, admin_port: int | None, public: str | None) -> Iterator[Listening]:
    """Bind both ports; a public server needs its https address and a password for the admin page."""
    if public is not None and not re.fullmatch(r"https://[A-Za-z0-9.-]+(:[0-9]+)?/?", public):
        raise UsageError(f"--public {public}: must be https://HOST, as browsers reach it")
    password = password_in(PASSWORD)
    if host not in LOCAL and (public is None or password is None):
        raise UsageError(
            f"--host {host}: other machines can reach this address; give --public https://HOST and set {PASSWORD}"
        )
    if public is not None and password is None:
        raise UsageError(f"--public {public}: the admin page needs a password; set {PASSWORD}")
    if admin_port is None:
        admin_port = port + 1 if 0 < port < 65535 else 0
    with listen_on(host, port) as people, listen_on("127.0.0.1", admin_port) as admin:
        yield Listening(people, admin, None if public is None else public.rstrip("/"), password)


async def serve_people(
    host: Host, folder: Folder, where: Listening, study: Path, say: Callable[[str], None], joins: int = 0
) -> None:
    """Serve participants and the admin page until a signal comes."""
    mark = identity(folder.manifest())
    port, admin_port = where.people.getsockname()[1], where.admin.getsockname()[1]
    reader = LinkReader(host.people.source, host.register.key, study, where.origin)
    pictures = read_pictures(host.people.pictures, study, host.plan.file)
    gatekeeper = Gatekeeper(where.origin, {port}, joins_a_minute=joins, report=say)
    people = Participants(host, reader, gatekeeper, f"ostrom_{mark[:12]}", pictures)
    page, password = f"http://127.0.0.1:{admin_port}", where.password or secrets.token_urlsafe(16)
    if host.strangers:
        say(
            f"warning: {host.register.path} is older than the journal: it does not know "
            f"{how_many(host.strangers, 'person')} who came (put back a newer copy); "
            "without their cookie they cannot come back, and they cannot be paid"
        )
    host.register.set_meta("address", where.base)
    links = reader.links(where.base)
    say(
        f"participants: {links[0]}"
        + (f" (and {len(links) - 1} more: ostrom people {folder.path} links)" if links[1:] else "")
    )
    admin = Admin(
        host, reader, Gatekeeper(None, {admin_port}, report=say), password, where.base, folder.path,
        lambda path: say(f"admin login:  {page}{path} (good for one login)"),
    )  # fmt: skip
    say(
        f"admin page:   {page}/"
        + ("" if where.password else f" (password {password}, until the server stops; {PASSWORD} sets your own)")
    )
    beside = [asyncio.create_task(_sweep(host, say))]

    def closing() -> None:
        people.closing.set()
        admin.closing.set()
        for live in host.live_visits.values():
            live.changed()

    await serve([(people.app(), where.people), (admin.app(), where.admin)], closing, beside)


async def _sweep(host: Host, say: Callable[[str], None]) -> None:
    loop = asyncio.get_running_loop()
    forgot = loop.time() - FORGET
    while True:
        if loop.time() - forgot >= FORGET:
            forgot = loop.time()
            if (due := host.forget()).erasable:
                say(f"personal data of {how_many(len(due.erasable), 'person')} was kept for long enough and is erased")
        await asyncio.sleep(SWEEP)
        await host.sweep()
