"""A connection to a server: plain, with TLS or through a proxy; one exchange at a time.

Several addresses of one name are tried as RFC 8305 ("happy eyeballs") says: asyncio can do this by itself and uvloop
cannot, so it is done here for both. The reason of a failed handshake is given in words.
"""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import ssl
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from ipaddress import ip_address, ip_network
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import SplitResult, quote, unquote, urlsplit

from ostrom.ground.errors import UsageError
from ostrom.ground.values import grouped
from ostrom.models.http1 import LARGEST_BODY, InvalidResponse, Response, ResponseReader
from ostrom.models.services import is_local

CLOSED = "it closed the connection during the TLS handshake"
_TRUST = "SSL_CERT_FILE names a file of further certificates to trust"
_UNKNOWN = f"its certificate was issued by an authority that this machine does not know ({_TRUST})"
# The codes of X509_V_ERR_* in OpenSSL; they have never changed.
_CERTIFICATE = {
    2: _UNKNOWN,
    9: "its certificate is not valid yet (or the clock of this machine is wrong)",
    10: "its certificate has expired (or the clock of this machine is wrong)",
    18: f"its certificate is self-signed ({_TRUST})",
    19: f"its certificate chain ends in a self-signed certificate that this machine does not trust ({_TRUST})",
    20: _UNKNOWN,
    21: _UNKNOWN,
    23: "its certificate was revoked",
}
_OTHER_HOST = (62, 64)
_NO_TLS = "it does not speak TLS at this port (is its address http:// instead of https://?)"
_VERSION = "it shares no version of TLS with this machine"
_CLIENT = "it demands a client certificate, which is not supported"
_HANDSHAKE = {
    "WRONG_VERSION_NUMBER": _NO_TLS,
    "HTTP_REQUEST": _NO_TLS,
    "PACKET_LENGTH_TOO_LONG": _NO_TLS,
    "RECORD_LAYER_FAILURE": _NO_TLS,
    "UNSUPPORTED_PROTOCOL": _VERSION,
    "TLSV1_ALERT_PROTOCOL_VERSION": _VERSION,
    "NO_PROTOCOLS_AVAILABLE": _VERSION,
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": _CLIENT,
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "it shares no cipher with this machine, or demands a client certificate",
    "TLSV1_UNRECOGNIZED_NAME": "it does not serve this host name",
}


def check_trust() -> None:
    """Refuse a missing certificate file: OpenSSL would silently trust no server."""
    file, folders = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file and not Path(file).is_file():
        raise UsageError(f"SSL_CERT_FILE: there is no file {file!r}")
    if folders and not any(Path(folder).is_dir() for folder in folders.split(os.pathsep)):
        raise UsageError(f"SSL_CERT_DIR: there is no folder {folders!r}")


def reason(error: ssl.SSLError) -> str:
    """Explain why TLS failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _OTHER_HOST:
            return f"its certificate is for another host ({error.verify_message.rstrip('.')})"
        return _CERTIFICATE.get(error.verify_code, f"its certificate was refused ({error.verify_message})")
    if isinstance(error, ssl.SSLEOFError):
        return CLOSED
    name = error.reason or ""
    return _HANDSHAKE.get(name, f"TLS failed: {name.replace('_', ' ').lower() or error}")


HEAD_START = 0.25
"""Seconds after which the next address is tried in parallel."""


async def dial(host: str, port: int, tls: ssl.SSLContext | None) -> Connection:
    """Connect to the first address of a host that answers. Raises the OSError of the first address."""
    loop = asyncio.get_running_loop()

    async def attempt(address: str) -> Connection:
        try:
            _, connected = await loop.create_connection(
                Connection, address, port, ssl=tls, server_hostname=None if tls is None else host
            )
        except ConnectionResetError as error:
            if tls is None or str(error):
                raise
            # The error asyncio raises when the server closes the connection during the TLS handshake has no message.
            raise ConnectionResetError(CLOSED) from None
        return connected

    if is_address(host):
        return await attempt(host)
    waiting = deque(_in_turn(await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
    trying: set[asyncio.Task[Connection]] = set()
    failed: list[BaseException] = []
    try:
        while waiting or trying:
            if waiting:
                trying.add(asyncio.create_task(attempt(waiting.popleft())))
            done, trying = await asyncio.wait(
                trying, timeout=HEAD_START if waiting else None, return_when=asyncio.FIRST_COMPLETED
            )
            failed += [error for task in done if (error := task.exception()) is not None]
            if connected := [task for task in done if task.exception() is None]:
                trying.update(connected[1:])
                return connected[0].result()
        raise failed[0]
    finally:
        for task in trying:
            task.cancel()
            task.add_done_callback(_abort)


def is_address(host: str) -> bool:
    """Whether this is an IP address and not a name.

    >>> is_address("::1"), is_address("localhost")
    (True, False)
    """
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _in_turn(addresses: Iterable[tuple[Any, ...]]) -> list[str]:
    """Return the addresses with alternating families, starting with the resolver's first."""
    mixed = chain.from_iterable(
        zip_longest(*grouped((family, str(address[0])) for family, *_, address in addresses).values())
    )
    return list(dict.fromkeys(filter(None, mixed)))


def _abort(task: asyncio.Task[Connection]) -> None:
    """Close a connection that came too late."""
    with suppress(asyncio.CancelledError, OSError):
        task.result().abort()


class Proxy(NamedTuple):
    """An HTTP proxy, from the environment, by the rules that curl and requests share.

    ``http_proxy`` or ``https_proxy``, by the scheme of the server's address, comes before ``all_proxy``. The lower-case
    name comes before the upper-case one, and an empty value means no proxy. ``no_proxy`` lists exceptions: host names
    (with their subdomains), addresses, networks (``10.0.0.0/8``), each with a port if need be, or ``*``. This machine
    is never reached through a proxy. SOCKS proxies are refused: a run must not go another way than it was told.
    """

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
        """Return the proxy for this URL; None without one."""
        target = urlsplit(url)
        if is_local(url) or target.hostname is None:
            return None
        variable, named = _first_set(f"{target.scheme}_proxy", "all_proxy")
        return None if not named or _is_exempt(target) else cls._parsed(variable, named)

    @classmethod
    def _parsed(cls, variable: str, named: str) -> Proxy:
        # The URL may hold a password: no message repeats it.
        wrong = UsageError(f"{variable}: not the address of an HTTP proxy (as http://host:port)")
        try:
            parts = urlsplit(named if "://" in named else f"http://{named}")
            port = parts.port
        except ValueError:
            raise wrong from None
        if parts.scheme.startswith("socks"):
            raise UsageError(
                f"{variable}: SOCKS proxies are not supported (name an HTTP proxy in https_proxy, or put the "
                "server into no_proxy to reach it directly)"
            )
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise wrong
        secure = parts.scheme == "https"
        who = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        login = f"Proxy-Authorization: Basic {base64.b64encode(who.encode()).decode()}"
        return cls(parts.hostname, port or (443 if secure else 80), secure, (login,) if who != ":" else ())


def _first_set(*names: str) -> tuple[str, str]:
    """Return name and value of the first variable that is set; lower case first, then upper case."""
    # Under CGI a client can set HTTP_PROXY by sending a header "Proxy".
    foreign = "HTTP_PROXY" if "REQUEST_METHOD" in os.environ else ""
    either = (variable for name in names for variable in (name, name.upper()) if variable != foreign)
    return next(((name, os.environ[name].strip()) for name in either if name in os.environ), ("", ""))


def _is_exempt(target: SplitResult) -> bool:
    """Whether ``no_proxy`` lists this server."""
    variable, listed = _first_set("no_proxy")
    host = (target.hostname or "").rstrip(".").lower()
    port = target.port or (443 if target.scheme == "https" else 80)
    return any(_matches(entry.lower(), host, port, variable) for entry in listed.replace(",", " ").split())


def _matches(entry: str, host: str, port: int, variable: str) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        try:
            network = ip_network(entry, strict=False)
        except ValueError:
            raise UsageError(f"{variable}: {entry!r} is not a network (as 10.0.0.0/8)") from None
        return is_address(host) and ip_address(host) in network
    if is_address(entry):
        return is_address(host) and ip_address(host) == ip_address(entry)
    name, colon, number = entry.rpartition(":")
    if colon and not number.isdigit() and not entry.startswith("["):
        raise UsageError(f"{variable}: {entry!r} is not host:port")
    if colon and number.isdigit() and int(number) != port:
        return False
    name = (name if colon and number.isdigit() else entry).strip("[]").removeprefix("*").strip(".")
    if is_address(name):
        return is_address(host) and ip_address(host) == ip_address(name)
    return bool(name) and (host == name or host.endswith(f".{name}"))


class ServerClosed(Exception):
    """Raised when the server closed the connection before any byte of a response."""

    def __str__(self) -> str:
        return "closed the connection without a response"


class ResponseCut(Exception):
    """Raised when the server closed the connection in the middle of a response."""

    def __str__(self) -> str:
        return "closed the connection in the middle of a response"


class Route(NamedTuple):
    """The method and path of a request below a base URL."""

    method: str
    path: str
    kind: str | None = None
    """The content type of the body, if it is not JSON."""


class Address:
    """The URL of requests, with headers, TLS context and proxy."""

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
            lines = [*(line for line in lines if not line.startswith("Content-Type:")), f"Content-Type: {kind}"]
        return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "Content-Length: "]).encode("latin-1")

    def request(self, body: bytes, route: Route | None = None) -> bytes:
        """Return the bytes of a request with this body, to the URL itself or a route below it."""
        head = self._head
        if route is not None:
            below = quote(route.path, safe="/?=&%:@!$'()*+,;~")
            head = self._head_of(route.method, f"{self._path.rstrip('/')}{below}", route.kind)
        return b"%s%d\r\n\r\n%s" % (head, len(body), body)

    async def connect(self) -> Connection:
        """Open a connection. Raises OSError (also for TLS), ServerClosed, ResponseCut, InvalidResponse."""
        proxy = self.proxy
        if proxy is None:
            return await dial(self.host, self.port, self._tls if self.secure else None)
        connection = await dial(proxy.host, proxy.port, self._tls if proxy.secure else None)
        if self.secure:
            await self._tunnel(connection, proxy)
        return connection

    async def _tunnel(self, connection: Connection, proxy: Proxy) -> None:
        """Ask the proxy for a connection to the server, then start TLS with the server."""
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
        """A TLS context with the system's certificates, or those that SSL_CERT_FILE and SSL_CERT_DIR name."""
        return ssl.create_default_context()


BUFFER = 1 << 15
"""Bytes that a connection reads at a time."""
Take = Callable[["Response | Exception"], None]
"""Called with the result of an exchange: a response, ServerClosed, ResponseCut, InvalidResponse or OSError."""


class Connection(asyncio.BufferedProtocol):
    """A connection with one exchange at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader = ResponseReader()
        self._buffer = memoryview(bytearray(BUFFER))
        self._take: Take | None = None
        self._transport: asyncio.Transport | None = None
        self.usable = True
        """Whether another request may be sent."""
        self.idle_since = 0.0

    def exchange(self, request: bytes, take: Take, largest: int = LARGEST_BODY) -> None:
        """Send a request; ``take`` is called when the whole response, or an error, has arrived."""
        if self.usable and self._transport is not None:
            self._take = take
            self._reader.expect(largest)
            self._transport.write(request)
        else:
            take(ServerClosed())

    async def tunnel(self, request: bytes) -> int:
        """Ask a proxy for a tunnel; return the status of its response."""
        self._reader = ResponseReader(tunnel=True)
        answer: asyncio.Future[Response | Exception] = self._loop.create_future()
        self.exchange(request, lambda outcome: None if answer.done() else answer.set_result(outcome))
        if isinstance(outcome := await answer, Exception):
            raise outcome
        if outcome.status < 300 and not outcome.keep:
            raise InvalidResponse("it sent more than the headers that open a tunnel")
        return outcome.status

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Upgrade the connection to TLS."""
        assert self._transport is not None
        self._reader = ResponseReader()
        self._transport = await self._loop.start_tls(self._transport, self, context, server_hostname=host)

    def fail(self, error: Exception) -> None:
        """End the current exchange with an error, and close the connection."""
        take, self._take = self._take, None
        self.abort()
        if take is not None:
            take(error)

    def forget(self) -> None:
        """Drop the current exchange without calling ``take``, and close the connection."""
        self._take = None
        self.abort()

    def abort(self) -> None:
        """Close the connection at once."""
        self.usable = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport of the opened connection."""
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        """Return the buffer for the next bytes; without it asyncio allocates 256 KiB for every read."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Process received bytes."""
        if self._take is None:
            self.abort()  # bytes without a request
            return
        try:
            response = self._reader.feed(bytes(self._buffer[:nbytes]))
        except InvalidResponse as error:
            self.fail(error)
        else:
            if response is not None:
                self._done(response)

    def eof_received(self) -> None:
        """Do nothing: ``connection_lost`` follows."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the connection."""
        self.usable = False
        if self._take is None:
            return
        lost = exc if isinstance(exc, OSError) and not isinstance(exc, ConnectionError) else ServerClosed()
        try:
            response = self._reader.end() if exc is None else None
        except InvalidResponse as error:
            self.fail(error)
        else:
            if response is not None:
                self._done(response)
            else:
                self.fail(ResponseCut() if self._reader.begun else lost)

    def _done(self, response: Response) -> None:
        take, self._take = self._take, None
        if not response.keep:
            self.abort()
        if take is not None:
            take(response)
