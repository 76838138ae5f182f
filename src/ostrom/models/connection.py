"""A connection to a server: opened plainly, with TLS or through a proxy, then one exchange at a time."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import NamedTuple, cast
from urllib.parse import quote, urlsplit

from ostrom.ground.errors import UsageError
from ostrom.models.http1 import LARGEST_BODY, InvalidResponse, Response, ResponseReader
from ostrom.models.proxy import Proxy
from ostrom.models.tls import Abortable, check_trust, client_context, dial


class ServerClosed(Exception):
    """The server closed the connection before any byte of a response."""

    def __str__(self) -> str:
        return "closed the connection without a response"


class ResponseCut(Exception):
    """The server closed the connection in the middle of a response."""

    def __str__(self) -> str:
        return "closed the connection in the middle of a response"


class Route(NamedTuple):
    """A place below an address, and what is done there."""

    method: str
    path: str
    kind: str | None = None
    """The content type of the body, where that is not JSON."""


class Address:
    """The URL that bodies are posted to, and the way there."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        self.secure = parts.scheme == "https"
        try:
            self.host = (parts.hostname or "").encode("idna").decode("ascii")
        except UnicodeError:
            raise UsageError(f"{url!r}: not the name of a host") from None
        self.port = parts.port or (443 if self.secure else 80)
        self.proxy = Proxy.towards(url)
        if self.secure or (self.proxy is not None and self.proxy.secure):
            check_trust()
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
        bracketed = f"[{self.host}]" if ":" in self.host else self.host
        place = bracketed if parts.port is None else f"{bracketed}:{parts.port}"
        self._authority = f"{bracketed}:{self.port}"
        self._lines = [f"Host: {place}", *(f"{name}: {value}" for name, value in headers.items())]
        if self.proxy is not None and not self.secure:
            path = f"http://{place}{path}"
            self._lines += self.proxy.headers
        self._path = path
        self._head = self._head_of("POST", path)

    def _head_of(self, method: str, path: str, kind: str | None = None) -> bytes:
        lines = self._lines
        if kind is not None:
            lines = [line for line in lines if not line.startswith("Content-Type:")]
            lines = [*lines, f"Content-Type: {kind}"]
        return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "Content-Length: "]).encode("latin-1")

    def request(self, body: bytes, route: Route | None = None) -> bytes:
        """A whole request: a body for the address itself, or for a place below it."""
        head = self._head
        if route is not None:
            below = quote(route.path, safe="/?=&%:@!$'()*+,;~")
            head = self._head_of(route.method, f"{self._path.rstrip('/')}{below}", route.kind)
        return b"%s%d\r\n\r\n%s" % (head, len(body), body)

    async def connect(self) -> Connection:
        """A new connection. Raises OSError (ssl errors are such), ServerClosed, ResponseCut, InvalidResponse."""
        proxy = self.proxy
        if proxy is None:
            return await dial(Connection, self.host, self.port, self._tls if self.secure else None)
        connection = await dial(Connection, proxy.host, proxy.port, self._tls if proxy.secure else None)
        if self.secure:
            await self._tunnel(connection, proxy)
        return connection

    async def _tunnel(self, connection: Connection, proxy: Proxy) -> None:
        """Have the proxy connect us to the server, then start TLS with the server."""
        name = self._authority
        lines = [f"CONNECT {name} HTTP/1.1", f"Host: {name}", *proxy.headers, "", ""]
        try:
            status = await connection.tunnel("\r\n".join(lines).encode("latin-1"))
            if not 200 <= status < 300:
                raise ConnectionRefusedError(f"it answers {status}")
            await connection.start_tls(self._tls, self.host)
        except BaseException:
            connection.abort()
            raise

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return client_context()


Take = Callable[["Response | Exception"], None]
"""Called with the result of an exchange: a response, or ServerClosed, ResponseCut, InvalidResponse, OSError."""


class Connection(Abortable):
    """One exchange at a time: a request goes out, a response comes back."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader = ResponseReader()
        self._take: Take | None = None
        self._transport: asyncio.Transport | None = None
        self.usable = True
        """Whether another request may be sent."""
        self.idle_since = 0.0

    def exchange(self, request: bytes, take: Take, largest: int = LARGEST_BODY) -> None:
        """Send a request; ``take`` is called the moment the whole response, or an error, is there."""
        if self.usable and self._transport is not None:
            self._take = take
            self._reader.expect(largest)
            self._transport.write(request)
        else:
            take(ServerClosed())

    async def tunnel(self, request: bytes) -> int:
        """Ask a proxy for a tunnel: the status of its answer."""
        self._reader = ResponseReader(tunnel=True)
        answer: asyncio.Future[Response | Exception] = self._loop.create_future()
        self.exchange(request, lambda found: None if answer.done() else answer.set_result(found))
        found = await answer
        if isinstance(found, Exception):
            raise found
        if found.status < 300 and not found.keep:
            raise InvalidResponse("it sent more than the headers that open a tunnel")
        return found.status

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Speak TLS from here on."""
        assert self._transport is not None
        self._reader = ResponseReader()
        self._transport = await self._loop.start_tls(self._transport, self, context, server_hostname=host)

    def fail(self, error: Exception) -> None:
        """End the exchange under way with an error, and close the connection."""
        take, self._take = self._take, None
        self.abort()
        if take is not None:
            take(error)

    def forget(self) -> None:
        """Drop the exchange under way without calling ``take``, and close the connection."""
        self._take = None
        self.abort()

    def abort(self) -> None:
        """Close the connection at once."""
        self.usable = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Bytes arrived."""
        if self._take is None:
            self.abort()  # bytes that no request asked for
            return
        try:
            response = self._reader.feed(data)
        except InvalidResponse as error:
            self.fail(error)
            return
        if response is not None:
            self._done(response)

    def eof_received(self) -> None:
        """The server closed its side; ``connection_lost`` follows."""

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self.usable = False
        if self._take is None:
            return
        try:
            response = self._reader.end() if exc is None else None
        except InvalidResponse as error:
            self.fail(error)
            return
        if response is not None:
            self._done(response)
        elif self._reader.begun:
            self.fail(ResponseCut())
        else:
            self.fail(
                exc if isinstance(exc, OSError) and not isinstance(exc, ConnectionError) else ServerClosed()
            )

    def _done(self, response: Response) -> None:
        take, self._take = self._take, None
        if not response.keep:
            self.abort()
        if take is not None:
            take(response)
