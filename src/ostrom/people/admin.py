"""The admin page: who is where, cells, lobby, dropouts, lag. Blind to results unless it is unblinded, which is kept."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ostrom.people.host import Host
from ostrom.people.pages import draw
from ostrom.people.sources import LinkReader
from ostrom.web.login import Login
from ostrom.web.security import Gatekeeper, Handler
from ostrom.web.static_files import static


class Admin:
    """The application for the researcher."""

    def __init__(
        self, host: Host, reader: LinkReader, gatekeeper: Gatekeeper, password: str | None, base: str
    ) -> None:
        self.host, self.reader, self.gatekeeper, self.base = host, reader, gatekeeper, base
        self.login = Login("admin", password)
        self.closing = asyncio.Event()
        self.lag = 0.0

    def app(self) -> Starlette:
        """The routes."""
        routes: list[tuple[str, Handler, list[str]]] = [
            ("/", self.page, ["GET"]),
            ("/login", self.enter, ["POST"]),
            ("/close", self.close, ["POST"]),
            ("/unblind", self.unblind, ["POST"]),
            ("/static/{name}", static, ["GET"]),
        ]
        return self.gatekeeper.application(routes)

    async def measure_lag(self) -> None:
        """How late the event loop is, smoothed."""
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(0.5)
            self.lag = 0.8 * self.lag + 0.2 * max(0.0, loop.time() - before - 0.5)

    async def enter(self, request: Request) -> Response:
        """Check the password."""
        return await self.login.enter(self.gatekeeper, request)

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
