"""HTTP requests to one address over kept-alive connections; every failure is a ModelError."""

from __future__ import annotations

import asyncio
import ssl
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping

from ostrom.ground.errors import CertificateRefused, ConnectionFailed, MalformedReply, ModelError, TimedOut
from ostrom.ground.version import __version__
from ostrom.models.base import Reply, Request
from ostrom.models.connection import Address, Connection, ResponseCut, Route, ServerClosed, reason
from ostrom.models.failures import from_status, one_line
from ostrom.models.http1 import LARGEST_BODY, InvalidResponse, Response, largest_body
from ostrom.models.pending_call import PendingCall, Release
from ostrom.models.redaction import redactor
from ostrom.models.services import host_of

# Many servers close a connection after five idle seconds: it is closed earlier, before a request can fail.
KEEP_ALIVE = 4.0


Decode = Callable[..., Reply]
"""Returns the reply in a body (of a request, with ``who`` and ``secrets``). Raises a ModelError."""


class PendingPost(PendingCall):
    """A body posted to a server, and its response."""

    route: Route | None = None
    """The route below the transport's address; None for the address itself."""
    timeout: float | None = None
    """Seconds for the whole exchange; None for the transport's timeout."""
    __slots__ = ("_decode", "_payload", "_request", "_response", "_transport", "largest", "way")

    def __init__(
        self, transport: Transport, payload: bytes, decode: Decode, request: Request, release: Release | None = None
    ) -> None:
        super().__init__(release)
        self._transport, self._payload = transport, payload
        self._decode, self._request = decode, request
        self.largest = largest_body(request)
        """The most bytes that the body of the reply may have."""
        self._response: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self.way: Connection | asyncio.Task[None] | None = None
        """The connection in use, or the task that opens one."""

    def start(self, era: int = 0) -> None:
        super().start(era)
        try:
            self._transport.send(self._payload, self)
        except Exception as error:  # raised by ``reply``, not where the slot is released
            self.refuse(error)

    def receive(self, outcome: Response | Exception) -> None:
        """Handle the end of an exchange. On 2xx the slot is released now; on an error, after the limiter knows it."""
        self.arrived()
        connection, self.way = self.way, None
        assert isinstance(connection, Connection)
        if isinstance(outcome, Exception):
            self._transport.returned(connection, well=False)
            self.refuse(self._transport.failure(outcome))
            return
        self._transport.returned(connection, well=True)
        if outcome.status < 300:
            self.release()
        if not self._response.done():
            self._response.set_result(outcome)

    def refuse(self, error: Exception) -> None:
        self.way = None
        if not self._response.done():
            self._response.set_exception(error)

    def drop(self) -> None:
        super().drop()
        way, self.way = self.way, None
        if isinstance(way, Connection):
            self._transport.broken_off(way)
        elif way is not None:
            way.cancel()
        if not self._response.cancel() and not self._response.cancelled():
            self._response.exception()  # mark it as retrieved: nothing awaits it

    async def response(self) -> Response:
        """Wait for a response with status 2xx. Raises a ModelError."""
        try:
            response = await self._response
        except asyncio.CancelledError:
            self.drop()
            raise
        if 200 <= response.status < 300:
            return response
        raise self._transport.refusal(response)

    async def reply(self) -> Reply:
        body, transport = (await self.response()).body, self._transport
        return transport.redactor.clean_reply(
            self._decode(body, self._request, who=transport.who, secrets=transport.secrets)
        )


class PendingExchange(PendingPost):
    """A request to a route that returns the whole response instead of a reply."""

    __slots__ = ("route", "timeout")

    def __init__(self, transport: Transport, route: Route, payload: bytes, largest: int, timeout: float) -> None:
        PendingCall.__init__(self)
        self._transport, self._payload, self.route, self.largest = transport, payload, route, largest
        self.timeout = timeout
        self._response = asyncio.get_running_loop().create_future()
        self.way = None


class Transport:
    """Sends bodies to one URL.

    There is no limit on connections here: how many calls are in flight is the caller's decision. Redirects
    are not followed: they could carry the key to a host nobody named.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], *, who: str, timeout: float, secrets: tuple[str, ...] = ()
    ) -> None:
        self.who, self.timeout = f"{who} at {host_of(url)}", timeout
        self.secrets, self.redactor = secrets, redactor(secrets)
        self._address = Address(
            url,
            {
                "Content-Type": "application/json",
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                "User-Agent": f"ostrom/{__version__}",
                **headers,
            },
        )
        self._idle: deque[Connection] = deque()
        self._busy: dict[Connection, float] = {}
        """Connections in use, with their deadline."""
        self._alarm: asyncio.TimerHandle | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"<Transport {self.who}>"

    def send(self, payload: bytes, pending: PendingPost) -> None:
        """Send a body over an idle connection at once, or over a new one."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop or self._closed:
            if self._closed:
                raise ModelError(f"{self.who} was closed before this call")
            if self._loop is not None:
                raise ModelError(f"{self.who} belongs to another event loop; open the model again in this one")
            self._loop = loop
        now = loop.time()
        deadline = now + (self.timeout if pending.timeout is None else pending.timeout)
        if (connection := self._idle_connection(now - KEEP_ALIVE)) is not None:
            self._send(payload, pending, connection, deadline)
        else:
            pending.way = loop.create_task(self._send_anew(payload, pending, deadline))

    async def _send_anew(self, payload: bytes, pending: PendingPost, deadline: float) -> None:
        try:
            connection = await self._connect(deadline)
        except Exception as error:  # any error: ``reply`` must raise it
            pending.refuse(error)
        else:
            if self._closed:
                connection.abort()
                pending.refuse(self.failure(ServerClosed()))
            else:
                self._send(payload, pending, connection, deadline)

    def _send(self, payload: bytes, pending: PendingPost, connection: Connection, deadline: float) -> None:
        pending.way = connection
        self._busy[connection] = deadline
        if self._alarm is None:
            assert self._loop is not None
            self._alarm = self._loop.call_at(deadline, self._expire, self._loop)
        connection.exchange(self._address.request(payload, pending.route), pending.receive, pending.largest)

    async def exchange(
        self, route: Route, body: bytes = b"", largest: int = LARGEST_BODY, more_time: float = 0.0
    ) -> Response:
        """Make one request to a route; the response has status 2xx. Raises a ModelError.

        ``more_time``: seconds added to the timeout, for large exchanges.
        """
        pending = PendingExchange(self, route, body, largest, self.timeout + more_time)
        pending.start()
        return await pending.response()

    def returned(self, connection: Connection, *, well: bool) -> None:
        """Release the connection of a finished exchange; if it went ``well``, keep it for another one."""
        del self._busy[connection]
        if well and connection.usable:
            assert self._loop is not None
            connection.idle_since = self._loop.time()
            self._idle.append(connection)
            if self._sweep is None:
                self._sweep = self._loop.call_later(KEEP_ALIVE, self._drop_old, self._loop)

    def broken_off(self, connection: Connection) -> None:
        """Abandon the exchange: its reply is not awaited."""
        del self._busy[connection]
        connection.forget()

    async def close(self) -> None:
        """Shut all connections; closing twice is fine."""
        self._closed = True
        for timer in (self._alarm, self._sweep):
            if timer is not None:
                timer.cancel()
        for connection in (*self._idle, *self._busy):
            connection.fail(ServerClosed())
        self._idle.clear()
        await asyncio.sleep(0)

    async def _connect(self, deadline: float) -> Connection:
        try:
            async with asyncio.timeout_at(deadline) as limit:
                return await self._address.connect()
        except ssl.SSLCertVerificationError as error:
            raise CertificateRefused(f"{self.who}: {self._line(error)}") from None
        except (ServerClosed, ResponseCut, InvalidResponse, OSError) as error:
            if limit.expired():
                raise self.failure(TimeoutError()) from None
            way = "" if (proxy := self._address.proxy) is None else f" through the proxy {proxy.place}"
            raise ConnectionFailed(f"cannot reach {self.who}{way}: {self._line(error)}") from None

    def _idle_connection(self, since: float) -> Connection | None:
        """Take the idle connection that was used last, if it is usable and was used after ``since``."""
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and connection.idle_since > since:
                return connection
            connection.abort()
        return None

    def _drop_old(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close connections that were idle for ``KEEP_ALIVE`` seconds, the least recently used first."""
        idle, now = self._idle, loop.time()
        while idle and (not idle[0].usable or idle[0].idle_since + KEEP_ALIVE <= now):
            idle.popleft().abort()
        self._sweep = loop.call_at(idle[0].idle_since + KEEP_ALIVE, self._drop_old, loop) if idle else None

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        """Time out calls past their deadline. One timer serves all calls."""
        now = loop.time()
        for connection in [c for c, deadline in self._busy.items() if deadline <= now]:
            connection.fail(TimeoutError())
        waiting = [deadline for deadline in self._busy.values() if deadline > now]
        self._alarm = loop.call_at(min(waiting), self._expire, loop) if waiting else None

    def refusal(self, response: Response) -> ModelError:
        """Return the error for a response with another status than 2xx."""
        return from_status(response.status, response.headers, response.body, who=self.who, secrets=self.secrets)

    def failure(self, error: Exception) -> ModelError:
        """Return the error for a failed exchange, without its cause, which may hold the request's headers."""
        match error:
            case TimeoutError():
                return TimedOut(f"{self.who} gave no complete reply within {self.timeout:g} s")
            case ResponseCut():
                return MalformedReply(f"{self.who} cut its reply short")
            case InvalidResponse():
                return MalformedReply(f"{self.who} sent no valid HTTP response: {self._line(error)}")
            case ServerClosed():
                return ConnectionFailed(f"{self.who} hung up without a reply")
        return ConnectionFailed(f"lost the connection to {self.who}: {self._line(error)}")

    def _line(self, error: object) -> str:
        """Return an error as part of one line. Secrets are redacted before it is cut."""
        if isinstance(error, InvalidResponse):
            excerpt = one_line(error.found.decode("latin-1"), self.secrets)
            return one_line(str(error), self.secrets) + (f" (it sent {excerpt[:40]!r})" if excerpt else "")
        if isinstance(error, ssl.SSLError):
            return one_line(reason(error), self.secrets)
        return one_line(str(getattr(error, "strerror", None) or str(error) or type(error).__name__), self.secrets)


class HttpModel(ABC):
    """A model client whose calls are posted to one address."""

    name: str
    _transport: Transport
    _decode: Decode

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @abstractmethod
    def _encode(self, request: Request) -> bytes:
        """The body of a call. Raises a ModelError."""

    def prepare(self, request: Request, release: Release | None = None) -> PendingPost:
        """Encode one call, to be sent later."""
        return PendingPost(self._transport, self._encode(request), self._decode, request, release)

    async def complete(self, request: Request) -> Reply:
        """Make one call."""
        return await self.prepare(request).send_now()

    async def close(self) -> None:
        """Shut the connections."""
        await self._transport.close()
