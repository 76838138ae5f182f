"""One POST to one address: a kept-alive aiohttp session whose failures come out of the error tree."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from ostrom import __version__
from ostrom.errors import ConnectionFailed, MalformedReply, ModelError, TimedOut
from ostrom.models.failures import from_status, one_line
from ostrom.models.keys import host_of, is_local

# Many servers hang up after five idle seconds; a connection that we drop first is never met half shut.
KEEP_ALIVE = 4.0
# aiohttp warns about longer bodies given as bytes.
LARGE_BODY = 1 << 20


class Transport:
    """Sends bodies to one URL and gives back the bytes of a 2xx reply."""

    def __init__(
        self, url: str, headers: Mapping[str, str], *, who: str, timeout: float, secrets: tuple[str, ...] = ()
    ) -> None:
        self.who = f"{who} at {host_of(url)}"
        self.secrets = secrets
        self.timeout = timeout
        self._url = URL(url, encoded=True)
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": f"ostrom/{__version__}",
            **headers,
        }
        self._proxy = _proxy(url)
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"<Transport {self.who}>"

    async def post(self, payload: bytes) -> bytes:
        """Send one body, read the whole reply."""
        session = self._session
        if session is None or self._loop is not asyncio.get_running_loop():
            session = self._open()
        body = payload if len(payload) < LARGE_BODY else io.BytesIO(payload)
        try:
            # Redirects are not followed: they could carry the key to a host nobody named.
            async with session.post(
                self._url, data=body, allow_redirects=False, proxy=self._proxy
            ) as response:
                data = await response.read()
                if 200 <= response.status < 300:
                    return data
                raise from_status(response.status, response.headers, data, who=self.who, secrets=self.secrets)
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            # `from None`: the causes hold the request with its headers.
            raise self._failure(error) from None

    async def close(self) -> None:
        """Shut all connections; closing twice is fine."""
        self._closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._closed:
            raise ModelError(f"{self.who} was closed before this call")
        if self._session is not None:
            raise ModelError(f"{self.who} belongs to another event loop; open the model again in this one")
        self._loop = asyncio.get_running_loop()
        self._session = aiohttp.ClientSession(
            # No limit here: how many calls are in flight is the caller's decision.
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE, ttl_dns_cache=300),
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=self.timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self._session

    def _failure(self, error: Exception) -> ModelError:
        if isinstance(error, asyncio.TimeoutError):
            return TimedOut(f"{self.who} gave no complete reply within {self.timeout:g} s")
        if isinstance(error, aiohttp.ClientPayloadError):
            return MalformedReply(f"{self.who} cut its reply short")
        if isinstance(error, aiohttp.ClientResponseError):
            return MalformedReply(f"{self.who} does not speak HTTP: {self._line(error.message)}")
        if isinstance(error, aiohttp.ServerDisconnectedError):
            return ConnectionFailed(f"{self.who} hung up without a reply")
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return ConnectionFailed(f"{self.who}: {self._line(error.certificate_error)}")
        if isinstance(error, aiohttp.ClientConnectorError):
            return ConnectionFailed(f"cannot reach {self.who}: {self._line(error.os_error)}")
        return ConnectionFailed(f"lost the connection to {self.who}: {self._line(error)}")

    def _line(self, error: object) -> str:
        return one_line(str(getattr(error, "strerror", None) or error or type(error).__name__), self.secrets)


def _proxy(url: str) -> str | None:
    """The proxy the environment names for this address, looked up once instead of at every call."""
    target = URL(url)
    if is_local(url) or target.host is None or proxy_bypass(target.host):
        return None
    return getproxies().get(target.scheme)
