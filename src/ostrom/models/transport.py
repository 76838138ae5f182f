"""Posts to one address over connections that are kept alive; what fails comes out of the error tree."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Mapping

from ostrom import __version__
from ostrom.errors import CertificateRefused, ConnectionFailed, MalformedReply, ModelError, TimedOut
from ostrom.models.connection import Address, Connection, CutShort, HungUp
from ostrom.models.failures import from_status, one_line
from ostrom.models.http1 import Garbled
from ostrom.models.keys import host_of

# Many servers hang up after five idle seconds; a connection that we drop first is never met half shut.
KEEP_ALIVE = 4.0


class Transport:
    """Sends bodies to one URL and gives back the bytes of a 2xx reply.

    There is no limit on connections here: how many calls are in flight is the caller's decision. Redirects
    are not followed: they could carry the key to a host nobody named.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], *, who: str, timeout: float, secrets: tuple[str, ...] = ()
    ) -> None:
        self.who = f"{who} at {host_of(url)}"
        self.secrets = secrets
        self.timeout = timeout
        self._address = Address(
            url,
            {
                "Content-Type": "application/json",
                "Accept": "application/json",
                "User-Agent": f"ostrom/{__version__}",
                **headers,
            },
        )
        self._idle: deque[Connection] = deque()
        self._busy: dict[Connection, float] = {}
        """Connections in use and until when."""
        self._alarm: asyncio.TimerHandle | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"<Transport {self.who}>"

    async def post(self, payload: bytes) -> bytes:
        """Send one body, read the whole reply."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop or self._closed:
            self._enter(loop)
        deadline = loop.time() + self.timeout
        connection = self._kept(loop.time() - KEEP_ALIVE) or await self._connect(deadline)
        self._busy[connection] = deadline
        if self._alarm is None:
            self._alarm = loop.call_at(deadline, self._expire, loop)
        try:
            response = await connection.exchange(self._address.request(payload))
        except (TimeoutError, HungUp, CutShort, Garbled, OSError) as error:
            # `from None`: a cause may hold the request with its headers.
            raise self._failure(error) from None
        except BaseException:
            connection.abort()
            raise
        finally:
            del self._busy[connection]
        if connection.usable:
            self._keep(connection, loop)
        if 200 <= response.status < 300:
            return response.body
        raise from_status(
            response.status, response.headers, response.body, who=self.who, secrets=self.secrets
        )

    async def close(self) -> None:
        """Shut all connections; closing twice is fine."""
        self._closed = True
        for timer in (self._alarm, self._sweep):
            if timer is not None:
                timer.cancel()
        for connection in (*self._idle, *self._busy):
            connection.fail(HungUp())
        self._idle.clear()
        await asyncio.sleep(0)

    def _enter(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._closed:
            raise ModelError(f"{self.who} was closed before this call")
        if self._loop is not None:
            raise ModelError(f"{self.who} belongs to another event loop; open the model again in this one")
        self._loop = loop

    async def _connect(self, deadline: float) -> Connection:
        try:
            async with asyncio.timeout_at(deadline) as limit:
                return await self._address.connect()
        except ssl.SSLCertVerificationError as error:
            raise CertificateRefused(f"{self.who}: {self._line(error.verify_message)}") from None
        except (HungUp, CutShort, Garbled, OSError) as error:
            if limit.expired():
                raise self._failure(TimeoutError()) from None
            proxy = self._address.proxy
            way = "" if proxy is None else f" through the proxy {proxy.place}"
            raise ConnectionFailed(f"cannot reach {self.who}{way}: {self._line(error)}") from None

    def _kept(self, since: float) -> Connection | None:
        """The connection used last, if it is open and was used since then."""
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and connection.idle_since > since:
                return connection
            connection.abort()
        return None

    def _keep(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        connection.idle_since = loop.time()
        self._idle.append(connection)
        if self._sweep is None:
            self._sweep = loop.call_later(KEEP_ALIVE, self._drop_old, loop)

    def _drop_old(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hang up on servers that we have not talked to for a while; the least recently used is the first."""
        idle, now = self._idle, loop.time()
        while idle and (not idle[0].usable or idle[0].idle_since + KEEP_ALIVE <= now):
            idle.popleft().abort()
        self._sweep = loop.call_at(idle[0].idle_since + KEEP_ALIVE, self._drop_old, loop) if idle else None

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give up on calls whose time is over. One timer serves all calls: one for each would cost more."""
        now = loop.time()
        for connection in [c for c, deadline in self._busy.items() if deadline <= now]:
            connection.fail(TimeoutError())
        waiting = [deadline for deadline in self._busy.values() if deadline > now]
        self._alarm = loop.call_at(min(waiting), self._expire, loop) if waiting else None

    def _failure(self, error: Exception) -> ModelError:
        if isinstance(error, TimeoutError):
            return TimedOut(f"{self.who} gave no complete reply within {self.timeout:g} s")
        if isinstance(error, CutShort):
            return MalformedReply(f"{self.who} cut its reply short")
        if isinstance(error, Garbled):
            return MalformedReply(f"{self.who} does not speak HTTP: {self._line(error)}")
        if isinstance(error, HungUp):
            return ConnectionFailed(f"{self.who} hung up without a reply")
        return ConnectionFailed(f"lost the connection to {self.who}: {self._line(error)}")

    def _line(self, error: object) -> str:
        return one_line(str(getattr(error, "strerror", None) or error or type(error).__name__), self.secrets)
