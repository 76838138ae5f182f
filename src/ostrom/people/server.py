"""`ostrom serve`: the servers for participants and researcher, and their background jobs.

The admin page shows who is where now, what needs attention, how full the cells are, and links to copy. It shows no
results until somebody unblinds it, which is recorded with the time.
"""

import asyncio
import re
import secrets
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ostrom.engine.folder import Folder, identity
from ostrom.ground.errors import UsageError
from ostrom.ground.words import how_many
from ostrom.people.host import STATES, Host
from ostrom.people.live_visit import LiveVisit
from ostrom.people.pages import draw
from ostrom.people.participants import Participants
from ostrom.people.payment import BY_PLATFORM, due, owed
from ostrom.people.pictures import read_pictures
from ostrom.people.schema import ENDS
from ostrom.people.sources import LinkReader
from ostrom.web.login import Login
from ostrom.web.security import Gatekeeper
from ostrom.web.server import LOCAL, listen_on, password_in, serve, static

WHERE = {
    "arrived": "at the start", "consented": "reading", "instructed": "in the quiz", "assigned": "choosing their time",
    "waiting": "waiting for a game", "playing": "playing", "asked": "answering a question",
    "surveyed": "in the survey", "debriefed": "reading the debriefing", "done": "finished", "declined": "declined",
    "screened_out": "failed the quiz", "full": "came when all was full", "no_partner": "found no partner",
    "timed_out": "stayed away", "departed": "left", "withdrawn": "took their data back",
    "finished_before": "had been here before",
}  # fmt: skip
"""Labels of the states of a visit, in their order."""
ALWAYS = ("consent", "seat", "match")
"""Kinds of decisions whose states the admin page shows for every study."""
DID = {
    "closed": "Recruiting is closed: nobody new can begin. Visits under way go on.",
    "opened": "Recruiting is open: people can begin.",
    "unblinded": "Results are shown from now on. That they are is on record, with the time.",
}
"""Confirmations of the admin page's buttons, by the word in the URL."""
AWAY = 120.0
"""Seconds without a request after which an active visit counts as quiet."""
MOST_LINKS = 200
"""The most links on the page; the command prints all."""


class Admin:
    """The application for the researcher."""

    def __init__(
        self,
        host: Host,
        reader: LinkReader,
        gatekeeper: Gatekeeper,
        password: str,
        base: str,
        run: Path,
        print_link: Callable[[str], None],
    ) -> None:
        self.host, self.reader, self.gatekeeper, self.run = host, reader, gatekeeper, run
        self.login = Login("admin", password, gatekeeper, self._ask, key=host.register.key, print_link=print_link)
        self.closing = asyncio.Event()
        self._links = reader.links(base)

    def app(self) -> Starlette:
        """The routes."""
        return self.gatekeeper.application(
            [
                ("/", self.page, ["GET"]),
                ("/login", self.login.enter, ["POST"]),
                ("/login", self.login.follow, ["GET"]),
                ("/close", self.close, ["POST"]),
                ("/unblind", self.unblind, ["POST"]),
                ("/static/{name}", static, ["GET"]),
            ]
        )

    def _ask(self, problem: str, status: int) -> Response:
        """Return the page that asks for the password."""
        return HTMLResponse(
            draw("en", {"kind": "login", "title": f"{self.host.title}: admin", "at": "login", "problem": problem}),
            status,
        )

    async def page(self, request: Request) -> Response:
        """The state of the study."""
        if not self.login.allowed(request):
            return self._ask("", 403)
        context = {"kind": "admin", "title": f"{self.host.title}: admin", "every": 5, **self.state()}
        did = request.query_params.get("did", "")
        return HTMLResponse(draw("en", {**context, "did": did if did in DID else "", "did_words": DID.get(did)}))

    def state(self) -> dict[str, Any]:
        """Return the state of the study: counts without ids; points only when unblinded."""
        host = self.host
        real = [live for live in host.live_visits.values() if not live.test]
        unblinded = bool(host.register.meta("unblinded"))
        cells = [self._cell(cell, real, unblinded) for cell in range(host.plan.cells)]
        used = {external for source, external in host.known if source == self.reader.source.name}
        used = used if self.reader.source.places is not None else set()
        links = [link for number, link in enumerate(self._links, 1) if str(number) not in used]
        return {
            "at": f"admin-{'closed' if host.closed else 'open'}-{'results' if unblinded else 'blind'}",
            "places": self._places(real), "people": len(real), "cells": cells, "quota": host.people.quota,
            "problems": self._problems(real, cells), "closed": host.closed, "unblinded": unblinded,
            "tests": len(host.live_visits) - len(real), "links": links[:MOST_LINKS], "more_links": links[MOST_LINKS:],
            "run": self.run, "currency": host.people.pay.currency, **self._money(real),
        }  # fmt: skip

    def _places(self, real: list[LiveVisit]) -> list[tuple[str, int, str]]:
        """Return label, number of people and kind of each bar; states that this study lacks are left out."""
        counts = Counter(live.end or live.state for live in real)
        people = self.host.people
        kinds = {*ALWAYS, *(step.kind for step in people.visit)}
        if people.time.decision is not None and len(people.time.accommodation) > 1:
            kinds.add("accommodation")
        live_states = [state for kind, state in STATES.items() if kind in kinds or counts[state]]
        ends = [end for end in ENDS if end == "done" or counts[end]]
        here = [(WHERE[state], counts[state], "here") for state in live_states]
        return here + [(WHERE[end], counts[end], "done" if end == "done" else "left") for end in ends]

    def _cell(self, cell: int, real: list[LiveVisit], unblinded: bool) -> dict[str, Any]:
        here = [live for live in real if live.cell == cell]
        done = [live for live in here if live.end == "done" and not live.excluded]
        left = Counter(WHERE[live.end] for live in here if live.end not in (None, "done"))
        left.update("excluded" for live in here if live.end == "done" and live.excluded)
        return {
            "name": self.host.plan.cell_name(cell), "done": len(done), "left": left.total(),
            "why": ", ".join(f"{count} {end}" for end, count in left.most_common()),
            "points": f"{sum(g.points for g in done) / len(done):.2f}" if unblinded and done else "–",
            "under_way": sum(live.end is None for live in here),
        }  # fmt: skip

    def _problems(self, real: list[LiveVisit], cells: list[dict[str, Any]]) -> list[str]:
        """Return the problems for the researcher, the worst first."""
        host, now = self.host, asyncio.get_running_loop().time()
        quiet = sum(live.end is None and now - live.seen > AWAY for live in real)
        full = all(cell["done"] >= host.people.quota for cell in cells)
        source = host.people.source.name
        problems = [
            (host.strangers, f"The register is older than the journal: {how_many(host.strangers, 'person')} who came "
             "cannot come back without their cookie and cannot be paid. Put back a newer copy of people.db."),
            (host.failed, f"{how_many(host.failed, 'match')} broke off. The last one: {host.failure}"),
            (source in BY_PLATFORM and "done" not in host.people.codes, f"Whoever finishes gets no code for {source}: "
             "set people.codes.done."),
            (quiet, f"{how_many(quiet, 'person')} under way showed no sign of life for two minutes."),
            (full and not host.closed, "All cells are full: close recruiting."),
            (host.closed and not full, "Recruiting is closed, and not all cells are full."),
        ]  # fmt: skip
        return [words for holds, words in problems if holds]

    def _money(self, real: list[LiveVisit]) -> dict[str, Any]:
        """Return what is owed to people whose visit is over and who are in no payment file."""
        paid, source, plan = self.host.register.payments(), self.reader.source.name, self.host.plan
        amounts = [
            owed(source, *due(plan.people_of(live.cell).pay, live.earned, live.points))
            for live in real
            if live.earned is not None and live.code not in paid
        ]
        return {
            "owed": f"{sum(amounts, Decimal(0)):.2f}", "owed_to": sum(map(bool, amounts)),
            "base_by": source in BY_PLATFORM,
        }  # fmt: skip

    async def close(self, request: Request) -> Response:
        """Close recruiting, or reopen it."""
        self.login.require(request)
        self.host.closed = (await self.gatekeeper.form(request)).get("closed") == "1"
        did = "closed" if self.host.closed else "opened"
        self.host.register.set_meta("closed", int(self.host.closed))
        self.host.register.note("", did)
        return RedirectResponse(f"/?did={did}", 303)

    async def unblind(self, request: Request) -> Response:
        """Show results from now on, and record that they were shown."""
        self.login.require(request)
        await self.gatekeeper.form(request)
        self.host.register.set_meta("unblinded", time.time())
        self.host.register.note("", "unblinded")
        return RedirectResponse("/?did=unblinded", 303)


PASSWORD = "OSTROM_ADMIN_PASSWORD"
SWEEP = 2.0
"""Seconds between checks for people who were away too long."""
FORGET = 3600.0
"""Seconds between checks for personal data past its retention time."""


@dataclass(frozen=True)
class Listening:
    """The sockets of a server, bound before anything is written."""

    people: socket.socket
    admin: socket.socket
    origin: str | None
    password: str | None
    """The researcher's password; None for a random one, on this machine only."""

    @property
    def base(self) -> str:
        """Return the URL for participants."""
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
    next_port = port + 1 if 0 < port < 65535 else 0
    own_port = next_port if admin_port is None else admin_port
    with listen_on(host, port) as people, listen_on("127.0.0.1", own_port) as admin:
        yield Listening(people, admin, None if public is None else public.rstrip("/"), password)


async def serve_people(
    host: Host, folder: Folder, where: Listening, study: Path, say: Callable[[str], None], joins: int = 0
) -> None:
    """Serve participants and the admin page until a signal comes."""
    mark = identity(folder.manifest())
    port, admin_port = where.people.getsockname()[1], where.admin.getsockname()[1]
    reader = LinkReader(host.people.source, host.register.key, study, where.origin)
    pictures = read_pictures(host.people.pictures, study, host.plan.file)
    people = Participants(
        host,
        reader,
        Gatekeeper(where.origin, {port}, joins_a_minute=joins, report=say),
        f"ostrom_{mark[:12]}",
        pictures,
    )
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

    def closing() -> None:
        people.closing.set()
        admin.closing.set()
        for live in host.live_visits.values():
            live.changed()

    sweeping = asyncio.create_task(_sweep(host, say))
    await serve([(people.app(), where.people), (admin.app(), where.admin)], closing, [sweeping])


async def _sweep(host: Host, say: Callable[[str], None]) -> None:
    loop = asyncio.get_running_loop()
    forgot = loop.time() - FORGET
    while True:
        if loop.time() - forgot >= FORGET:
            forgot = loop.time()
            if (due := host.forget()).erasable:
                say(f"personal data of {how_many(len(due.erasable), 'person')} was kept for long enough and is erased")
        await asyncio.sleep(SWEEP)
        await host.end_expired_visits()
