"""The admin page of `ostrom serve`: who is where now, what needs attention, how full the cells are, links to copy.

It is blind to results unless it is unblinded, and that somebody did so is kept.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ostrom.ground.words import how_many
from ostrom.people.host import STATES, Host
from ostrom.people.live_visit import LiveVisit
from ostrom.people.pages import draw
from ostrom.people.payment import BY_PLATFORM, due, owed
from ostrom.people.schema import ENDS
from ostrom.people.sources import LinkReader
from ostrom.web.login import Login
from ostrom.web.security import Gatekeeper
from ostrom.web.server import static

WHERE = {
    "arrived": "at the start", "consented": "reading", "instructed": "in the quiz", "assigned": "choosing their time",
    "waiting": "waiting for a game", "playing": "playing", "asked": "answering a question",
    "surveyed": "in the survey", "debriefed": "reading the debriefing", "done": "finished", "declined": "declined",
    "screened_out": "failed the quiz", "full": "came when all was full", "no_partner": "found no partner",
    "timed_out": "stayed away", "departed": "left", "withdrawn": "took their data back",
    "finished_before": "had been here before",
}  # fmt: skip
"""What the page calls the states of a visit, in the order of a visit."""
ALWAYS = ("consent", "seat", "match")
"""Kinds of decisions of every visit: whoever arrives has not read anything yet, and every visit has a match."""
DID = {
    "closed": "Recruiting is closed: nobody new can begin. Visits under way go on.",
    "opened": "Recruiting is open: people can begin.",
    "unblinded": "Results are shown from now on. That they are is on record, with the time.",
}
"""What a button did, by the word that its reply has in the address."""
AWAY = 120.0
"""Seconds without a sign of life after which a visit under way counts as quiet."""
MOST_LINKS = 200
"""Links that the page shows; the command prints all."""


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
        """The page that asks for the password."""
        context = {"kind": "login", "title": f"{self.host.title}: admin", "at": "login", "problem": problem}
        return HTMLResponse(draw("en", context), status)

    async def page(self, request: Request) -> Response:
        """The state of the study."""
        if not self.login.allowed(request):
            return self._ask("", 403)
        context = {"kind": "admin", "title": f"{self.host.title}: admin", "every": 5, **self.state()}
        did = request.query_params.get("did", "")
        return HTMLResponse(draw("en", {**context, "did": did if did in DID else "", "did_words": DID.get(did)}))

    def state(self) -> dict[str, Any]:
        """Who is where: counts alone, no ids; points only when unblinded."""
        host = self.host
        real = [live for live in host.live_visits.values() if not live.test]
        unblinded = bool(host.register.meta("unblinded"))
        cells = [self._cell(cell, real, unblinded) for cell in range(host.plan.cells)]
        used = {external for source, external in host.known if source == self.reader.source.name}
        own = self.reader.source.places is not None
        links = [
            link for number, link in enumerate(self._links, 1) if not own or str(number) not in used
        ]  # fmt: skip
        return {
            "at": f"admin-{'closed' if host.closed else 'open'}-{'results' if unblinded else 'blind'}",
            "places": self._places(real), "people": len(real), "cells": cells, "quota": host.people.quota,
            "problems": self._problems(real, cells), "closed": host.closed, "unblinded": unblinded,
            "tests": len(host.live_visits) - len(real), "links": links[:MOST_LINKS], "more_links": links[MOST_LINKS:],
            "run": self.run, "currency": host.people.pay.currency, **self._money(real),
        }  # fmt: skip

    def _places(self, real: list[LiveVisit]) -> list[tuple[str, int, str]]:
        """What a bar stands for, how many people it counts, and its kind; states of other studies are left out."""
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
        excluded = sum(live.end == "done" and live.excluded for live in here)
        left = Counter(WHERE[live.end] for live in here if live.end not in (None, "done"))
        left |= Counter({"excluded": excluded})
        return {
            "name": self.host.plan.cell_name(cell), "done": len(done), "left": left.total(),
            "why": ", ".join(f"{count} {end}" for end, count in left.most_common()),
            "points": f"{sum(g.points for g in done) / len(done):.2f}" if unblinded and done else "–",
            "under_way": sum(live.end is None for live in here),
        }  # fmt: skip

    def _problems(self, real: list[LiveVisit], cells: list[dict[str, Any]]) -> list[str]:
        """What the researcher should see to, the worst first."""
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
        """What is owed to people whose visit is over and who are in no payment file."""
        paid, total, count = self.host.register.payments(), Decimal(0), 0
        for live in real:
            if live.earned is None or live.code in paid:
                continue
            rules = self.host.people if live.cell is None else self.host.plan.people_of(live.cell)
            amount = owed(self.reader.source.name, *due(rules.pay, live.earned, live.points))
            total, count = total + amount, count + bool(amount)
        return {"owed": f"{total:.2f}", "owed_to": count, "base_by": self.reader.source.name in BY_PLATFORM}

    async def close(self, request: Request) -> Response:
        """Close recruiting, or open it again."""
        self.login.require(request)
        form = await self.gatekeeper.form(request)
        self.host.closed = form.get("closed") == "1"
        did = "closed" if self.host.closed else "opened"
        self.host.register.set_meta("closed", int(self.host.closed))
        self.host.register.note("", did)
        return RedirectResponse(f"/?did={did}", 303)

    async def unblind(self, request: Request) -> Response:
        """Show results from now on; that somebody looked is kept."""
        self.login.require(request)
        await self.gatekeeper.form(request)
        self.host.register.set_meta("unblinded", time.time())
        self.host.register.note("", "unblinded")
        return RedirectResponse("/?did=unblinded", 303)
