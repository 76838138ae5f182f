"""A connection to a server: opened plainly, with TLS or through a proxy, then one exchange at a time."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Callable, Mapping
from functools import cached_property
from ipaddress import ip_address
from typing import NamedTuple, cast
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from ostrom.errors import UsageError
from ostrom.models.http1 import Garbled, Response, ResponseReader
from ostrom.models.keys import is_local


class HungUp(Exception):
    """The server closed the connection before it said anything."""

    def __str__(self) -> str:
        return "hung up without a word"


class CutShort(Exception):
    """The server closed the connection in the middle of a response."""

    def __str__(self) -> str:
        return "hung up in mid-sentence"


class Proxy(NamedTuple):
    """A proxy that the environment names."""

    host: str
    port: int
    secure: bool
    headers: tuple[str, ...]

    @property
    def place(self) -> str:
        """Host and port, for messages."""
        return f"{self.host}:{self.port}"

    @classmethod
    def towards(cls, url: str) -> Proxy | None:
        """The proxy for this address, if there is one."""
        target = urlsplit(url)
        if is_local(url) or target.hostname is None or proxy_bypass(target.hostname):
            return None
        named = getproxies().get(target.scheme)
        if not named:
            return None
        wrong = UsageError(f"{target.scheme}_proxy: not the address of an HTTP proxy (as http://host:port)")
        try:
            parts = urlsplit(named if "://" in named else f"http://{named}")
            port = parts.port
        except ValueError:
            raise wrong from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise wrong
        secure = parts.scheme == "https"
        who = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        pass_ = f"Proxy-Authorization: Basic {base64.b64encode(who.encode()).decode()}"
        return cls(parts.hostname, port or (443 if secure else 80), secure, (pass_,) if who != ":" else ())


class Address:
    """Where bodies are posted to, and how one gets there."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        self.secure = parts.scheme == "https"
        try:
            self.host = (parts.hostname or "").encode("idna").decode("ascii")
        except UnicodeError:
            raise UsageError(f"{url!r}: not the name of a host") from None
        self.port = parts.port or (443 if self.secure else 80)
        self.proxy = Proxy.towards(url)
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
        bracketed = f"[{self.host}]" if ":" in self.host else self.host
        place = bracketed if parts.port is None else f"{bracketed}:{parts.port}"
        self._authority = f"{bracketed}:{self.port}"
        lines = [f"Host: {place}", *(f"{name}: {value}" for name, value in headers.items())]
        if self.proxy is not None and not self.secure:
            path = f"http://{place}{path}"
            lines += self.proxy.headers
        self._head = "\r\n".join([f"POST {path} HTTP/1.1", *lines, "Content-Length: "]).encode("latin-1")

    def request(self, body: bytes) -> bytes:
        """A whole request."""
        return b"%s%d\r\n\r\n%s" % (self._head, len(body), body)

    async def connect(self) -> Connection:
        """A new connection. Raises OSError (ssl errors are such), HungUp, CutShort or Garbled."""
        proxy = self.proxy
        if proxy is None:
            return await _open(self.host, self.port, self._tls if self.secure else None)
        connection = await _open(proxy.host, proxy.port, self._tls if proxy.secure else None)
        if self.secure:
            await self._tunnel(connection, proxy)
        return connection

    async def _tunnel(self, connection: Connection, proxy: Proxy) -> None:
        """Have the proxy connect us to the server, and speak TLS with the server from then on."""
        name = self._authority
        lines = [f"CONNECT {name} HTTP/1.1", f"Host: {name}", *proxy.headers, "", ""]
        try:
            status = await connection.tunnel("\r\n".join(lines).encode("latin-1"))
            if status != 200:
                raise ConnectionRefusedError(f"it answers {status}")
            await connection.secure(self._tls, self.host)
        except BaseException:
            connection.abort()
            raise

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()


Take = Callable[["Response | Exception"], None]
"""Takes what came of an exchange: a response, or HungUp, CutShort, Garbled, OSError."""


class Connection(asyncio.Protocol):
    """One exchange at a time: a request goes out, a response comes back."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader = ResponseReader()
        self._take: Take | None = None
        self._transport: asyncio.Transport | None = None
        self._open = True
        self.idle_since = 0.0

    def exchange(self, request: bytes, take: Take) -> None:
        """Send a request. What comes of it is handed over in the moment it arrives."""
        if self._open and self._transport is not None:
            self._take = take
            self._transport.write(request)
        else:
            take(HungUp())

    async def tunnel(self, request: bytes) -> int:
        """Ask a proxy for a tunnel: the status of its answer, which has no body."""
        self._reader = ResponseReader(bodies=False)
        answer: asyncio.Future[Response | Exception] = self._loop.create_future()
        self.exchange(request, lambda found: None if answer.done() else answer.set_result(found))
        found = await answer
        if isinstance(found, Exception):
            raise found
        return found.status

    async def secure(self, tls: ssl.SSLContext, host: str) -> None:
        """Speak TLS from here on."""
        assert self._transport is not None
        self._reader = ResponseReader()
        self._transport = await self._loop.start_tls(self._transport, self, tls, server_hostname=host)

    @property
    def usable(self) -> bool:
        """Whether another request may be sent."""
        return self._open

    def fail(self, error: Exception) -> None:
        """Give up on the exchange under way, and on the connection."""
        take, self._take = self._take, None
        self.abort()
        if take is not None:
            take(error)

    def forget(self) -> None:
        """Give up on the exchange under way without a word, and on the connection."""
        self._take = None
        self.abort()

    def abort(self) -> None:
        """Break the connection off."""
        self._open = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The line is open."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Bytes arrived."""
        if self._take is None:
            self.abort()  # nobody asked
            return
        try:
            response = self._reader.feed(data)
        except Garbled as error:
            self.fail(error)
            return
        if response is not None:
            self._done(response)

    def eof_received(self) -> None:
        """The server hung up; what is under way is told by connection_lost."""

    def connection_lost(self, exc: Exception | None) -> None:
        """The line is closed."""
        self._open = False
        if self._take is None:
            return
        try:
            response = self._reader.end() if exc is None else None
        except Garbled as error:
            self.fail(error)
            return
        if response is not None:
            self._done(response)
        elif self._reader.begun:
            self.fail(CutShort())
        else:
            self.fail(exc if isinstance(exc, OSError) and not isinstance(exc, ConnectionError) else HungUp())

    def _done(self, response: Response) -> None:
        take, self._take = self._take, None
        if not response.keep:
            self.abort()
        if take is not None:
            take(response)


async def _open(host: str, port: int, tls: ssl.SSLContext | None) -> Connection:
    loop = asyncio.get_running_loop()
    # A name may stand for several addresses, some of which lead nowhere. A number stands for itself.
    delay = None if _is_number(host) else 0.25
    _, connection = await loop.create_connection(Connection, host, port, ssl=tls, happy_eyeballs_delay=delay)
    return connection


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
