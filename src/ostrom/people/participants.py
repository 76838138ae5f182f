"""The web application for participants: start page, current page, answers, events, and leaving."""

import asyncio
from collections.abc import AsyncIterator, Mapping

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from ostrom.answers import Choice, Invalid
from ostrom.people.forms import Read, read_decision, read_sheet
from ostrom.people.host import Host
from ostrom.people.live_visit import LiveVisit, PendingQuestion
from ostrom.people.pages import NAMES, Pages, draw
from ostrom.people.sources import LinkReader
from ostrom.people.words import words
from ostrom.web.security import Gatekeeper, Refused
from ostrom.web.server import static
from ostrom.web.tokens import sign, verified

PING = 15.0
"""Seconds between keep-alive messages on an event stream."""
MOST_STREAMS = 8
"""The most open event streams of one person: one per tab."""
NEXT = 0.25
"""Seconds that a reply waits for the next question, so that most pages need one request."""
BACK = 5.0
"""Seconds that a page waits for its visit to be resumed after a restart."""


class Participants:
    """The application for participants."""

    def __init__(
        self,
        host: Host,
        reader: LinkReader,
        gatekeeper: Gatekeeper,
        cookie: str,
        pictures: Mapping[str, tuple[bytes, str]] = {},
    ) -> None:
        """Build the application; ``pictures`` are the pictures of the texts by URL, with their types."""
        self._pictures = pictures
        self.host, self.reader, self.gatekeeper = host, reader, gatekeeper
        self.pages, self.cookie, self._key = Pages(host), cookie, host.register.key
        self.closing = asyncio.Event()

    def app(self) -> Starlette:
        """The routes."""
        return self.gatekeeper.application(
            [
                ("/", self.page, ["GET"]),
                ("/join", self.join, ["POST"]),
                ("/answer", self.answer, ["POST"]),
                ("/more", self.more, ["POST"]),
                ("/leave", self.leave, ["GET", "POST"]),
                ("/events", self.events, ["GET"]),
                ("/picture/{name}", self.picture, ["GET"]),
                ("/static/{name}", static, ["GET"]),
            ]
        )

    # -- who is there --------------------------------------------------------------------------------

    def visit_of(self, request: Request) -> LiveVisit | None:
        """Return the visit of a request's cookie; None if the cookie is missing or forged."""
        live = self.host.codes.get(verified(self._key, "visit", request.cookies.get(self.cookie, "")) or "")
        if live is not None:
            live.seen = asyncio.get_running_loop().time()
        return live

    def _admit(self, live: LiveVisit, response: Response) -> Response:
        response.set_cookie(
            self.cookie, sign(self._key, "visit", live.code), max_age=30 * 86400, path="/", httponly=True,
            samesite="lax", secure=self.gatekeeper.secure,
        )  # fmt: skip
        return response

    def _language(self, request: Request, wanted: str = "") -> str:
        languages = self.host.people.languages
        accepted = [part.partition(";")[0].strip() for part in request.headers.get("accept-language", "").split(",")]
        fitting = (
            own
            for language in (wanted, request.query_params.get("lang", ""), *accepted[:20])
            for own in languages
            if language == own or language.partition("-")[0] == own.partition("-")[0] != ""
        )
        return next(fitting, languages[0])

    # -- pages ---------------------------------------------------------------------------------------

    def _draw(self, request: Request, live: LiveVisit, *, problem: str = "", notice: str = "") -> Response:
        context = self.pages.page(live, problem=problem, notice=notice)
        return HTMLResponse(
            draw(live.language, context, part=request.headers.get("x-part") == "main"), 422 if problem else 200
        )

    async def page(self, request: Request) -> Response:
        """Return the current page of a person, or the start page for a new one."""
        if "return" in request.query_params:
            back = self.host.codes.get(verified(self._key, "return", request.query_params["return"]) or "")
            if back is not None:
                return self._admit(back, RedirectResponse("/", 303))
        live = self.visit_of(request)
        params = self.reader.parameters(request.query_params)
        if live is not None:
            invited = self.reader.invited(dict(params)) if params else None
            other = None if invited is None else self.host.returning_visit(self.reader.source.name, invited.external)
            if invited is None or other is live:
                await self._wait_until_resumed(live)
                return self._draw(request, live) if not params else RedirectResponse("/", 303)
        return self._start(request, params)

    def _start(self, request: Request, params: list[tuple[str, str]]) -> Response:
        language = self._language(request)
        w = words(language)
        languages = [(code, NAMES.get(code.partition("-")[0], code)) for code in self.host.people.languages]
        body, fields = w.begin_text, [*params] if params else None
        if params and self.reader.invited(dict(params)) is None:
            body, fields = w.wrong_invitation, None
        elif not params:
            body = w.no_invitation
        elif self.host.closed:
            body, fields = w.closed, None
        context = {
            "kind": "start", "title": self.host.title or w.welcome, "body": body, "params": fields,
            "languages": languages, "script": False,
        }  # fmt: skip
        return HTMLResponse(draw(language, context), 200 if fields is not None or self.host.closed else 400)

    async def join(self, request: Request) -> Response:
        """Start a visit, or return to it."""
        form = await self.gatekeeper.form(request)
        invited, own = self.reader.invited(form), self.visit_of(request)
        language = self._language(request, form.get("language", ""))
        if invited is None:
            raise Refused(400, words(language).wrong_invitation)
        source = self.reader.source.name
        if (before := self.host.returning_visit(source, invited.external)) is not None:
            who = self.host.known[source, invited.external]
            # Whoever knows an id could act for that person: without the cookie only the same session may return.
            if before is not own and (not who.session or who.session != invited.session):
                raise Refused(409, words(language).elsewhere)
            return self._admit(before, RedirectResponse("/", 303))
        if self.host.closed:
            raise Refused(403, words(language).closed)
        self.gatekeeper.joining(request)
        live = await self.host.join(source, invited.external, invited.session, language)
        await self._next(live)
        return self._admit(live, RedirectResponse("/", 303))

    async def answer(self, request: Request) -> Response:
        """Store an answer to the open question; any other answer is ignored."""
        live = self.visit_of(request)
        form = await self.gatekeeper.form(request)
        if live is None:
            raise Refused(403, words(self._language(request)).no_invitation)
        await self._wait_until_resumed(live)
        entry = self.host.now_at(live)
        if entry is None or form.get("place") != entry.place:
            return self._answered(request, live, notice=words(live.language).stale)
        read = self._read(entry, form)
        if isinstance(read, Invalid):
            return self._draw(request, live, problem=read.reason)
        await self.host.settle(live, entry, read.value, read.personal)
        await self._next(live)
        return self._answered(request, live)

    @staticmethod
    async def _wait_until_resumed(live: LiveVisit) -> None:
        """Wait for a visit that is being resumed after a restart, so that no answer is lost."""
        if live.version == 0:
            await live.news(0, BACK)

    async def _next(self, live: LiveVisit) -> None:
        """Wait a moment for the next question."""
        loop = asyncio.get_running_loop()
        until = loop.time() + NEXT
        while (version := live.version) is not None and self.host.now_at(live) is None and live.end is None:
            if (left := until - loop.time()) <= 0:
                return
            await live.news(version, left)

    def _read(self, entry: PendingQuestion, form: dict[str, str]) -> Read | Invalid:
        decision = entry.decision
        if entry.prompt is not None:
            return read_decision(decision.form, entry.prompt.labels, form)
        if (sheet := self.host.sheet(decision, self.host.people.languages[0])) is not None:
            return read_sheet(sheet, form)
        assert isinstance(decision.form, Choice)
        return read_decision(decision.form, {option: option for option in decision.form.options}, form)

    def _answered(self, request: Request, live: LiveVisit, notice: str = "") -> Response:
        is_part = request.headers.get("x-part") == "main"
        return self._draw(request, live, notice=notice) if is_part else RedirectResponse("/", 303)

    async def more(self, request: Request) -> Response:
        """Extend the time of the open question."""
        live = self.visit_of(request)
        form = await self.gatekeeper.form(request)
        if live is None:
            raise Refused(403, words(self._language(request)).no_invitation)
        entry = self.host.now_at(live)
        if entry is not None and form.get("place") == entry.place and self.host.extend(entry):
            live.changed()
        return self._answered(request, live, notice=words(live.language).more_time_given)

    async def leave(self, request: Request) -> Response:
        """Ask for confirmation and the kind of leaving; then end the visit."""
        live = self.visit_of(request)
        if live is None:
            return RedirectResponse("/", 303)
        if request.method == "POST":
            how = (await self.gatekeeper.form(request)).get("how")
            if how not in ("departed", "withdrawn"):
                raise Refused(400, "Choose how to leave.")
            await self.host.leave(live, how)
            await self._next(live)
            return RedirectResponse("/", 303)
        return HTMLResponse(
            draw(live.language, {"kind": "leave", "title": words(live.language).leave_title, "script": False})
        )

    async def picture(self, request: Request) -> Response:
        """Serve a picture of the texts; no other files are served."""
        if (found := self._pictures.get(request.url.path)) is None:
            raise Refused(404, "There is no such page.")
        data, kind = found
        return Response(
            data,
            media_type=kind,
            headers={
                "content-security-policy": "default-src 'none'; sandbox",
                "cache-control": "private, max-age=3600",
            },
        )

    # -- news ----------------------------------------------------------------------------------------

    async def events(self, request: Request) -> Response:
        """Notify a page that something changed; it then fetches the content."""
        live = self.visit_of(request)
        if live is None:
            return Response(status_code=204)  # tells the browser not to reconnect
        if live.streams >= MOST_STREAMS:
            raise Refused(429, "Too many tabs are open.")  # those pages poll instead

        async def stream() -> AsyncIterator[bytes]:
            version = live.version
            live.streams += 1
            try:
                yield b"retry: 2000\nevent: news\ndata: 0\n\n"
                while not self.closing.is_set() and live.end is None:
                    latest = await live.news(version, PING)
                    live.seen = asyncio.get_running_loop().time()
                    kind, version = ("news" if latest != version else "ping"), latest
                    yield f"event: {kind}\ndata: {latest}\n\n".encode()
            finally:
                live.streams -= 1

        return StreamingResponse(stream(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})
