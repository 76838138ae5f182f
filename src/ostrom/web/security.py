"""Checks of every request, and headers of every reply."""

import asyncio
import ipaddress
import time
import traceback
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl, urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ostrom.ground.errors import RunError

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]

MOST_BYTES = 16_384
"""The largest request body, in bytes."""
SLOWEST = 10.0
"""Seconds within which a body must arrive."""
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


class Refused(Exception):
    """A request that is not served."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason

    def response(self) -> Response:
        """The refusal as a reply."""
        return PlainTextResponse(self.reason + "\n", self.status)


class Gatekeeper:
    """Checks host and origin of requests, reads bodies, and limits how often an address may join.

    ``origin`` is the address at which browsers reach the server (``https://host``), or None if it serves this machine
    alone. With ``browsers=False`` a request need not name its origin: for programs that send a token.
    """

    def __init__(
        self,
        origin: str | None,
        ports: Collection[int],
        *,
        joins_a_minute: int = 0,
        browsers: bool = True,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._report, self._browsers = report, browsers
        self.secure = origin is not None and origin.startswith("https://")
        local = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]") for port in ports}
        self.origins = {f"http://{host}" for host in local}
        self.hosts = set(local)
        if origin is not None:
            parts = urlsplit(origin)
            self.hosts.add(parts.netloc.lower())
            self.origins.add(f"{parts.scheme}://{parts.netloc}".lower())
        self.behind_proxy = origin is not None
        self._joins, self._most = OrderedDict[str, list[float]](), joins_a_minute

    async def __call__(self, request: Request, handler: Handler) -> Response:
        """Serve a request that passes, and add the headers to every reply."""
        try:
            self.check(request)
            response = await handler(request)
        except Refused as refused:
            response = refused.response()
        except RunError as error:  # such as a full disk: the page keeps the answer and sends it again
            self._report(str(error))
            response = Refused(503, "The server cannot keep answers right now.").response()
        except Exception as error:
            self._report(_place_of(error))
            response = Refused(500, "Something is wrong with this server.").response()
        return self._complete(response)

    def _complete(self, response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if self.secure:
            response.headers.setdefault("strict-transport-security", "max-age=31536000")
        return response

    def application(self, routes: Sequence[tuple[str, Handler, list[str]]]) -> Starlette:
        """Build an application whose requests all pass here: path, handler and methods of each route."""

        def guarded(handler: Handler) -> Handler:
            async def serve(request: Request) -> Response:
                return await self(request, handler)

            return serve

        async def unknown(request: Request, error: Exception) -> Response:
            async def refuse(_: Request) -> Response:
                raise Refused(error.status_code if isinstance(error, HTTPException) else 404, "There is no such page.")

            return await self(request, refuse)

        app = Starlette(
            routes=[Route(path, guarded(handler), methods=how) for path, handler, how in routes],
            exception_handlers={HTTPException: unknown},
        )
        app.router.redirect_slashes = False  # it would redirect to whatever host a request names
        return app

    def check(self, request: Request) -> None:
        """Refuse a wrong host, and requests from pages of other sites."""
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            raise Refused(421, "This server is reached under another name.")
        if any(len(request.headers.getlist(name)) > 1 for name in ("origin", "sec-fetch-site")):
            raise Refused(400, "This request says twice which site it came from.")
        if request.method in ("GET", "HEAD"):
            return
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
        has_origin = (
            origin is not None and origin != "null"
        )  # a page without referrers sends forms with the origin null
        foreign = has_origin and str(origin).lower() not in self.origins
        if foreign or site not in (None, "same-origin", "none"):
            raise Refused(403, "This request came from another site.")
        if not has_origin and site is None and self._browsers:
            raise Refused(403, "This request does not say which site it came from.")

    async def form(self, request: Request) -> dict[str, str]:
        """Read the fields of a submitted form; a body that is too long or arrives too slowly is refused."""
        length = request.headers.get("content-length") or "0"
        if not length.isascii() or not length.isdigit() or len(length) > 12 or int(length) > MOST_BYTES:
            raise Refused(413, "That is too much.")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            raise Refused(415, "Send a form.")
        body = bytearray()
        try:
            async with asyncio.timeout(SLOWEST):
                async for piece in request.stream():
                    body += piece
                    if len(body) > MOST_BYTES:
                        raise Refused(413, "That is too much.")
        except TimeoutError:
            raise Refused(408, "That took too long.") from None
        try:
            return dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=200))
        except (UnicodeDecodeError, ValueError):
            raise Refused(400, "This form cannot be read.") from None

    def address(self, request: Request) -> str:
        """Return the client address of a request (for IPv6 its /64 network), as a local proxy forwards it."""
        peer = request.client.host if request.client is not None else ""
        forwarded = ",".join(request.headers.getlist("x-forwarded-for")).rpartition(",")[2].strip()
        client = forwarded if self.behind_proxy and forwarded and _is_local(peer) else peer
        try:
            parsed = ipaddress.ip_address(client)
        except ValueError:
            return peer
        return str(ipaddress.ip_network(f"{parsed}/64", strict=False)) if parsed.version == 6 else str(parsed)

    def joining(self, request: Request) -> None:
        """Count a join; too many per minute from one address are refused."""
        address, now = self.address(request), time.monotonic()
        times = [at for at in self._joins.pop(address, []) if now - at < 60]
        if self._most and len(times) >= self._most:
            self._joins[address] = times
            raise Refused(429, "Too many people joined from your network just now. Please try again in a minute.")
        self._joins[address] = [*times, now]
        while len(self._joins) > 10_000:
            self._joins.popitem(last=False)


def _place_of(error: Exception) -> str:
    """Return one line with an error's type and place; its message may quote a person and is left out."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else "an unknown place"
    return f"a request failed: {type(error).__name__} in {at}"


def _is_local(peer: str) -> bool:
    try:
        return ipaddress.ip_address(peer).is_loopback
    except ValueError:
        return False
