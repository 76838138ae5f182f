"""`ostrom serve` as a whole: the admin page, who listens where, and the jobs that go on beside the pages.

The admin page says who is where: cells, lobby, dropouts, lag. It is blind to results unless it is unblinded, and that
somebody did so is kept.
"""

import asyncio
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ostrom.engine.folder import Folder, identity
from ostrom.ground.errors import UsageError
from ostrom.ground.words import how_many
from ostrom.people.host import Host
from ostrom.people.pages import draw
from ostrom.people.participants import Participants
from ostrom.people.sources import LinkReader
from ostrom.web.login import Login
from ostrom.web.security import Gatekeeper
from ostrom.web.server import LOCAL, listen_on, password_in, serve, static


class Admin:
    """The application for the researcher."""

    def __init__(
        self, host: Host, reader: LinkReader, gatekeeper: Gatekeeper, password: str | None, base: str
    ) -> None:
        self.host, self.reader, self.gatekeeper, self.base = host, reader, gatekeeper, base
        self.login = Login("admin", password, gatekeeper)
        self.closing = asyncio.Event()
        self.lag = 0.0

    def app(self) -> Starlette:
        """The routes."""
        return self.gatekeeper.application(
            [
                ("/", self.page, ["GET"]),
                ("/login", self.login.enter, ["POST"]),
                ("/close", self.close, ["POST"]),
                ("/unblind", self.unblind, ["POST"]),
                ("/static/{name}", static, ["GET"]),
            ]
        )

    async def measure_lag(self) -> None:
        """How late the event loop is, smoothed."""
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(0.5)
            self.lag = 0.8 * self.lag + 0.2 * max(0.0, loop.time() - before - 0.5)

    async def page(self, request: Request) -> Response:
        """The state of the study."""
        context: dict[str, Any] = {"kind": "admin", "title": f"{self.host.title}: admin"}
        if not self.login.allowed(request):
            return HTMLResponse(draw("en", {**context, "login": True}), 403)
        return HTMLResponse(draw("en", {**context, "login": False, "every": 5, **self.state()}))

    def state(self) -> dict[str, Any]:
        """Who is where: counts alone, no ids; points only when unblinded."""
        host = self.host
        real = [live for live in host.live_visits.values() if not live.test]
        cells = []
        unblinded = bool(host.register.meta("unblinded"))
        for cell in range(host.plan.cells):
            here = [live for live in real if live.cell == cell]
            done = [live for live in here if live.end == "done"]
            left = Counter(live.end for live in here if live.end not in (None, "done"))
            points = f"{sum(g.points for g in done) / len(done):.2f}" if unblinded and done else ""
            cells.append(
                {
                    "name": host.plan.cell_name(cell), "done": len(done), "left": dict(left), "points": points,
                    "under_way": sum(live.end is None for live in here),
                }
            )  # fmt: skip
        return {
            "states": sorted(Counter(live.state for live in real).items()), "cells": cells,
            "quota": host.people.quota, "lobby": len(host.lobby), "open": len(host.inbox), "closed": host.closed,
            "tests": len(host.live_visits) - len(real), "lag": f"{self.lag * 1000:.1f}", "unblinded": unblinded,
            "link": self.reader.links(self.base)[0],
        }  # fmt: skip

    async def close(self, request: Request) -> Response:
        """Close recruiting, or open it again."""
        self.login.require(request)
        form = await self.gatekeeper.form(request)
        self.host.closed = form.get("closed") == "1"
        self.host.register.set_meta("closed", int(self.host.closed))
        self.host.register.note("", "closed" if self.host.closed else "opened")
        return RedirectResponse("/", 303)

    async def unblind(self, request: Request) -> Response:
        """Show results from now on; that somebody looked is kept."""
        self.login.require(request)
        await self.gatekeeper.form(request)
        self.host.register.set_meta("unblinded", time.time())
        self.host.register.note("", "unblinded")
        return RedirectResponse("/", 303)


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
    gatekeeper = Gatekeeper(where.origin, {port}, joins_a_minute=joins, report=say)
    people = Participants(host, reader, gatekeeper, f"ostrom_{mark[:12]}")
    admin = Admin(host, reader, Gatekeeper(None, {admin_port}, report=say), where.password, where.base)
    if host.strangers:
        say(
            f"warning: {host.register.path} is older than the journal: it does not know "
            f"{how_many(host.strangers, 'person')} who came (put back a newer copy); "
            "without their cookie they cannot come back, and they cannot be paid"
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

    await serve([(people.app(), where.people), (admin.app(), where.admin)], closing, beside)


async def _sweep(host: Host, say: Callable[[str], None]) -> None:
    loop = asyncio.get_running_loop()
    forgot = loop.time() - FORGET
    while True:
        if loop.time() - forgot >= FORGET:
            forgot = loop.time()
            if (found := host.forget()).erasable:
                say(
                    f"personal data of {how_many(len(found.erasable), 'person')} was kept for long enough and is erased"
                )
        await asyncio.sleep(SWEEP)
        await host.sweep()
