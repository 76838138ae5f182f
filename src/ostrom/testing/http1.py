"""Minimal HTTP/1.1 for a test server: one asyncio protocol, keep-alive, bodies of known length.

Several times faster than a web framework, so that a benchmark of a client measures the client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

_REASONS = {200: "OK", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 429: "Too Many Requests",
            500: "Internal Server Error", 503: "Service Unavailable", 529: "Overloaded"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Received:
    """One received request."""

    method: str
    path: str
    raw_headers: bytes
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        """Header values by lower-case name."""
        pairs = (line.partition(":") for line in self.raw_headers.decode("latin-1").split("\r\n")[1:] if line)
        return {name.strip().lower(): value.strip() for name, _, value in pairs}


def response(status: int, body: bytes, extra: str = "", length: int | None = None) -> bytes:
    """Return a response as bytes; ``length`` may misstate the size of the body for a test.

    >>> response(200, b"{}").splitlines()[0]
    b'HTTP/1.1 200 OK'
    """
    size = len(body) if length is None else length
    head = f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {size}\r\n{extra}\r\n".encode("latin-1") + body


class ServedConnection(asyncio.Protocol):
    """One connection: splits the bytes into requests and handles them one at a time."""

    def __init__(
        self, handle: Callable[[Received, ServedConnection], None], on_lost: Callable[[ServedConnection], None]
    ) -> None:
        self._handle, self._on_lost = handle, on_lost
        self._buffer = b""
        self._busy = False
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Handle a new client."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Handle the end of the connection."""
        self.transport = None
        self._on_lost(self)

    def data_received(self, data: bytes) -> None:
        """Process received bytes."""
        self._buffer = self._buffer + data if self._buffer else data
        if not self._busy:
            self._next()

    def send(self, data: bytes) -> None:
        """Answer the current request and continue with the next."""
        self._busy = False
        if self.transport is not None:
            self.transport.write(data)
            if self._buffer:
                self._next()

    def write(self, data: bytes) -> None:
        """Write part of an answer; the request stays open."""
        if self.transport is not None:
            self.transport.write(data)

    def hang_up(self) -> None:
        """Close after the written bytes are sent."""
        if self.transport is not None:
            self.transport.close()

    def reset(self) -> None:
        """Abort the connection."""
        if self.transport is not None:
            self.transport.abort()

    def _next(self) -> None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._buffer[:end]
        size = _content_length(head)
        if size is None:
            self.write(
                response(411, b'{"error": {"message": "a body needs a Content-Length"}}', "Connection: close\r\n")
            )
            self.hang_up()
            return
        start = end + 4
        if len(self._buffer) < start + size:
            return
        body = self._buffer[start : start + size]
        self._buffer = self._buffer[start + size :]
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0]
        self._busy = True
        self._handle(Received(method.decode("latin-1"), path.decode("latin-1"), head, body), self)


def _content_length(head: bytes) -> int | None:
    low = head.lower()
    at = low.find(b"\r\ncontent-length:")
    if at < 0:
        return None if b"\r\ntransfer-encoding:" in low else 0
    value = low[at + 17 :].partition(b"\r\n")[0].strip()
    return int(value) if value.isdigit() else None
