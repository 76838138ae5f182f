"""Responses of HTTP/1.1 from bytes as they arrive: pure, linear in what arrives, and strict.

A whole client library costs several times what a call needs. What a call needs is here: a status, headers,
and a body whose length is known, or that comes in chunks, or that ends with the connection.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

LONGEST_HEAD = 1 << 16
LONGEST_BODY = 1 << 28
LONGEST_LINE = 1 << 12
_ENDLESS = "a line between its chunks does not end"
_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9][0-9])(?: |$)")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?\Z")


class Garbled(Exception):
    """What came is no HTTP response, or one that nobody here asked for."""


class Response(NamedTuple):
    """One whole response; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    keep: bool
    """The connection may carry another exchange."""


class ResponseReader:
    """Reads one response after another from the bytes of a connection.

    >>> reader = ResponseReader()
    >>> reader.feed(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{")
    >>> reader.feed(b"}").body
    b'{}'
    """

    __slots__ = ("_bodies", "_body", "_buffer", "_headers", "_keep", "_status")

    def __init__(self, *, bodies: bool = True) -> None:
        self._bodies = bodies
        """False: a response ends with its head, as it does when a proxy opens a tunnel."""
        self._buffer = b""
        self._body: _Sized | _Chunked | _ToTheEnd | None = None

    @property
    def begun(self) -> bool:
        """Whether part of a response has arrived."""
        return bool(self._buffer) or self._body is not None

    def feed(self, data: bytes) -> Response | None:
        """Take bytes; the response, once it is whole. Raises Garbled."""
        at = 0
        if self._buffer:
            data, self._buffer = self._buffer + data, b""
        while self._body is None:
            end = data.find(b"\r\n\r\n", at)
            if end < 0 or end - at > LONGEST_HEAD:
                if not b"HTTP/1.".startswith(data[at : at + 7]):
                    raise Garbled(f"it sent {data[at : at + 40]!r}")
                if end >= 0 or len(data) - at > LONGEST_HEAD + 3:
                    raise Garbled(f"its headers have more than {LONGEST_HEAD:,} bytes")
                self._buffer = data[at:]
                return None
            self._read_head(data[at:end])  # one of 1xx leaves the body unset: the response proper follows
            at = end + 4
        return self._whole(self._body.feed(data[at:]))

    def end(self) -> Response | None:
        """The server hung up: the response, if its end was to be told by that."""
        return self._whole(b"".join(self._body.parts)) if isinstance(self._body, _ToTheEnd) else None

    def _whole(self, body: bytes | None) -> Response | None:
        if body is None:
            return None
        keep = self._keep and not isinstance(self._body, _ToTheEnd) and not self._body.rest  # type: ignore[union-attr]
        self._body = None
        return Response(self._status, self._headers, _unpacked(body, self._headers), keep)

    def _read_head(self, head: bytes) -> None:
        lines = head.split(b"\r\n")
        first = _STATUS.match(lines[0])
        if first is None:
            raise Garbled(f"it sent {lines[0][:40]!r}")
        self._status = status = int(first[2])
        headers: dict[str, str] = {}
        for line in lines[1:]:
            name, colon, value = line.partition(b":")
            key = _header(name)
            if not colon or key is None:
                raise Garbled(f"it sent the header line {line[:40]!r}")
            text = value.strip(b" \t").decode("latin-1")
            if headers.setdefault(key, text) != text:
                if key == "content-length":
                    raise Garbled("it sent two lengths")
                headers[key] += f", {text}"
        self._headers = headers
        said = headers.get("connection", "").lower()
        self._keep = "close" not in said if first[1] == b"1" else "keep-alive" in said
        if status < 200:
            if status == 101:
                raise Garbled("it wants to speak another protocol")
        elif status in (204, 304) or (not self._bodies and status < 300):
            self._body = _Sized(0)
        elif "transfer-encoding" in headers:
            if headers["transfer-encoding"].lower() != "chunked":
                raise Garbled(f"its transfer encoding is {headers['transfer-encoding'][:40]!r}")
            self._body = _Chunked()
        elif "content-length" in headers:
            self._body = _Sized(_length(headers["content-length"]))
        else:
            self._body = _ToTheEnd()


class _Sized:
    """A body of known length."""

    __slots__ = ("missing", "parts", "rest")

    def __init__(self, length: int) -> None:
        self.missing, self.rest = length, False
        self.parts: list[bytes] = []

    def feed(self, data: bytes) -> bytes | None:
        if len(data) > self.missing:
            data, self.rest = data[: self.missing], True
        self.missing -= len(data)
        if self.missing:
            self.parts.append(data)
            return None
        return b"".join((*self.parts, data)) if self.parts else data


class _Chunked:
    """A body in chunks, each with its length on a line before it and a line break behind it."""

    __slots__ = ("_behind", "_buffer", "_missing", "_size", "_trailer", "parts", "rest")

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.rest = False
        self._buffer = b""
        self._missing = self._size = 0
        self._behind = self._trailer = False

    def feed(self, data: bytes) -> bytes | None:
        data, at = self._buffer + data, 0
        while True:
            if self._missing:
                part = data[at : at + self._missing]
                at += len(part)
                self._missing -= len(part)
                self.parts.append(part)
                self._behind = not self._missing
            if self._missing or (end := data.find(b"\r\n", at)) < 0:
                break
            line, at = data[at:end], end + 2
            if len(line) > LONGEST_LINE:
                raise Garbled(_ENDLESS)
            if self._trailer and not line:
                self.rest = at < len(data)
                return b"".join(self.parts)
            if not self._trailer:
                self._read_line(line)
        self._buffer = data[at:]
        if len(self._buffer) > LONGEST_LINE + 1:  # the first half of a line break may be there
            raise Garbled(_ENDLESS)
        return None

    def _read_line(self, line: bytes) -> None:
        if self._behind:
            if line:
                raise Garbled("a chunk is longer than it said")
            self._behind = False
            return
        found = _CHUNK.match(line)
        if found is None:
            raise Garbled(f"it sent {line[:40]!r} for the length of a chunk")
        self._missing = int(found[1], 16)
        self._size += self._missing
        if self._size > LONGEST_BODY:
            raise Garbled(f"its body has more than {LONGEST_BODY:,} bytes")
        self._trailer = not self._missing


class _ToTheEnd:
    """A body that ends when the server hangs up."""

    __slots__ = ("parts", "size")

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def feed(self, data: bytes) -> None:
        self.size += len(data)
        if self.size > LONGEST_BODY:
            raise Garbled(f"its body has more than {LONGEST_BODY:,} bytes")
        self.parts.append(data)


@lru_cache(maxsize=256)
def _header(name: bytes) -> str | None:
    """The name of a header in lower case; None if it is none. A server sends the same ones all the time."""
    return name.lower().decode("ascii") if _NAME.match(name) else None


def _length(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 12) or int(text) > LONGEST_BODY:
        raise Garbled(f"it sent {text[:40]!r} for the length of the body")
    return int(text)


def _unpacked(body: bytes, headers: Mapping[str, str]) -> bytes:
    """The body as it was before the server packed it, though it was not asked to."""
    packing = headers.get("content-encoding", "identity").lower()
    if packing == "identity" or not body:
        return body
    if packing not in ("gzip", "x-gzip", "deflate"):
        raise Garbled(f"its content encoding is {packing[:40]!r}")
    unpacker = zlib.decompressobj(47)  # gzip and zlib alike
    try:
        plain = unpacker.decompress(body, LONGEST_BODY)
    except zlib.error:
        raise Garbled("its packed body cannot be unpacked") from None
    if not unpacker.eof:
        raise Garbled("its packed body is not whole")
    return plain
