"""HTTP/1.1 responses from bytes as they arrive: ``httptools`` (llhttp) parses, this module sets limits.

llhttp is strict: it refuses bare LF line ends, folded headers, two lengths, and a Content-Length beside a
Transfer-Encoding. It sets no limits on size, so every limit is here, counted to the byte: the result does not
depend on how the network cuts the bytes into pieces.

The body of a reply may be as large as what the request asked for: ``4 MiB + max_tokens x (512 + 256 x top_logprobs)``
bytes, and never more than 256 MiB. A token takes 4 to 6 bytes of JSON, an alternative with its log-probability about
120: the bound leaves room for escaped text, hidden reasoning that is not counted, and whatever a service adds. A body
that a server compressed although no compression was offered is decoded whole, or refused.
"""

import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from ostrom.ground.values import Derived
from ostrom.models.base import Request

BASE = 4 << 20
BYTES_PER_TOKEN = 512
BYTES_PER_ALTERNATIVE = 256
TOKENS_IF_UNSET = 32_768
LARGEST_BODY = 256 << 20
_BOUNDS = ("max_tokens", "max_completion_tokens")


def largest_body(request: Request) -> int:
    """Return the most bytes that the reply to this request may have.

    >>> largest_body(Request((), params={"max_tokens": 2000})) == 4 * 2**20 + 2000 * 512
    True
    """
    return _most_bytes(request.params, request.top_logprobs) if request.top_logprobs else _plain(request.params)


def _most_bytes(params: Mapping[str, Any], alternatives: int = 0) -> int:
    if extra := params.get("extra"):
        alternatives = max(alternatives, _count(extra.get("top_logprobs")) or 0)
    return min(LARGEST_BODY, BASE + longest_reply(params) * (BYTES_PER_TOKEN + BYTES_PER_ALTERNATIVE * alternatives))


_plain = Derived(_most_bytes)


def longest_reply(params: Mapping[str, Any], unset: int = TOKENS_IF_UNSET) -> int:
    """Return the most tokens of a reply with these parameters; ``unset`` if they do not say.

    >>> longest_reply({"max_tokens": 2000}), longest_reply({"max_tokens": 9, "extra": {"max_tokens": 50, "n": 2}})
    (2000, 100)
    """
    if not params:
        return unset
    tokens = _count(params.get("max_tokens")) or unset
    if extra := params.get("extra"):
        # Extra parameters are sent unchanged, so they may hold another limit.
        tokens = max((n for name in _BOUNDS if (n := _count(extra.get(name)))), default=tokens)
        tokens *= _count(extra.get("n")) or 1
    return tokens


def _count(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


GZIP, ZLIB, RAW = 31, 15, -15
"""The window sizes by which ``zlib`` knows these formats."""


class CannotDecode(Exception):
    """Raised when a body cannot be decoded; the message says why."""


def decoded(body: bytes, coding: str, largest: int) -> bytes:
    """Decompress a body.

    >>> decoded(zlib.compress(b"{}"), "deflate", 10), decoded(zlib.compress(b"{}")[2:-4], "deflate", 10)
    (b'{}', b'{}')
    """
    name = coding.strip().lower()
    if name in ("", "identity"):
        return body
    if name in ("gzip", "x-gzip"):
        return _inflated(body, GZIP, largest, members=True)
    if name == "deflate":
        # The standard means zlib's format, with its two header bytes (RFC 1950); some servers send the raw stream.
        is_zlib = len(body) > 1 and body[0] & 15 == 8 and int.from_bytes(body[:2], "big") % 31 == 0
        return _inflated(body, ZLIB if is_zlib else RAW, largest)
    raise CannotDecode("its content encoding was not offered (we read gzip and deflate)")


def _inflated(body: bytes, form: int, largest: int, *, members: bool = False) -> bytes:
    """Decompress a body; gzip allows several members in a row."""
    parts: list[bytes] = []
    room = largest
    while True:
        inflate = zlib.decompressobj(form)
        try:
            part = inflate.decompress(body, room + 1)
        except zlib.error:
            raise CannotDecode("its compressed body is damaged") from None
        parts.append(part)
        room -= len(part)
        if room < 0:
            raise CannotDecode(f"its body has more than {largest:,} bytes once decompressed")
        if not inflate.eof:
            raise CannotDecode("its compressed body is incomplete")
        body = inflate.unused_data
        if not body.strip(b"\0"):  # the format allows padding with zeros
            return b"".join(parts)
        if not members or not body.startswith(b"\x1f\x8b"):
            raise CannotDecode("bytes follow its compressed body")


LARGEST_HEAD = 1 << 17
"""The most bytes of status line and headers, interim (1xx) responses included."""
MOST_HEADERS = 256
FRAMING = 16
"""The most bytes on the wire for each byte of a chunked body."""
_PREFIX = b"HTTP/1."
_TLS_RECORD = (b"\x15\x03", b"\x16\x03")
_TLS_HERE = "it speaks TLS at this port: write https:// instead of http://"
_NOT_HTTP = "its response does not begin with HTTP/1"


class InvalidResponse(Exception):
    """Raised when the server sent no valid HTTP response, or an unexpected one.

    ``found`` is what it sent, uncut: keys have to be redacted before it is cut to a length that can be shown.
    """

    def __init__(self, problem: str, found: bytes = b"") -> None:
        super().__init__(problem)
        self.found = found


class Response(NamedTuple):
    """A complete response; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    keep: bool
    """Whether the connection may be used again."""


class ResponseReader:
    """Reads one response after another from the bytes of a connection.

    >>> reader = ResponseReader()
    >>> reader.feed(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{")
    >>> reader.feed(b"}").body
    b'{}'
    """

    def __init__(self, *, tunnel: bool = False) -> None:
        self._tunnel = tunnel
        """Whether this is a proxy's answer to CONNECT, which ends with its headers."""
        self._parser = HttpResponseParser(self)
        # Some servers pad the length of a chunk with spaces; that is harmless.
        self._parser.set_dangerous_leniencies(lenient_spaces_after_chunk_size=True)
        self.expect(LARGEST_BODY)

    def expect(self, largest: int) -> None:
        """Start a new response whose body has at most this many bytes, compressed and decompressed."""
        self._largest = largest
        self._limit = LARGEST_HEAD
        self._received = self._fields = 0
        self._opening = b""
        self._headers: dict[str, str] = {}
        self._status = 0
        """The final status once its headers are complete; 0 before."""
        self._body: bytes | bytearray = b""
        self._problem: InvalidResponse | None = None
        self._response: Response | None = None
        self._more = False
        """Whether bytes follow the response."""

    @property
    def begun(self) -> bool:
        """Whether part of a response has arrived."""
        return self._received > 0 or bool(self._opening)

    def feed(self, data: bytes) -> Response | None:
        """Process bytes; return the response once it is complete. Raises InvalidResponse."""
        if not self._received:
            if self._opening:
                data = self._opening + data
            if not data.startswith(_PREFIX):
                if not _PREFIX.startswith(data):
                    raise InvalidResponse(_TLS_HERE if data.startswith(_TLS_RECORD) else _NOT_HTTP, data)
                self._opening = data
                return None
        while True:
            room = self._limit - self._received
            piece = data if len(data) <= room else data[:room]
            self._received += len(piece)
            try:
                self._parser.feed_data(piece)
            except (HttpParserError, HttpParserUpgrade) as error:
                self._more = True
                if self._response is None:
                    raise self._problem or InvalidResponse(str(error), data) from None
            if self._response is not None:
                return self._response._replace(keep=False) if (self._more or piece is not data) else self._response
            if piece is data:
                return None
            data = data[room:]
            if self._received >= self._limit:
                raise InvalidResponse(
                    f"the framing of its chunks has more than {FRAMING - 1} bytes a byte"
                    if self._status
                    else f"its headers have more than {LARGEST_HEAD:,} bytes"
                )

    def end(self) -> Response | None:
        """Handle the end of the connection; return the response if this marks its end."""
        framed = {"content-length", "transfer-encoding"} & self._headers.keys()
        return self._finish(keep=False) if self._status and not framed else None

    # -- called by the parser ------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Refuse a message after a complete response."""
        if self._response is not None:
            self._refuse("bytes follow its response")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Process a header, or a trailer, which is only counted."""
        self._fields += 1
        if self._fields > MOST_HEADERS:
            self._refuse(f"it has more than {MOST_HEADERS} headers")
        if self._status:
            return
        key, text = _lower(name), value.decode("latin-1").strip(" \t")
        headers = self._headers
        headers[key] = f"{headers[key]}, {text}" if key in headers else text

    def on_headers_complete(self) -> None:
        """Check the headers and start the body."""
        status = self._parser.get_status_code()
        if status == 101:
            self._refuse("it wants to change to another protocol")
        if 100 <= status < 200:
            return
        if not 200 <= status < 600:
            self._refuse(f"its status is {status:03d}")
        headers = self._headers
        coding = headers.get("transfer-encoding")
        if coding is not None and coding.lower() != "chunked":
            self._refuse("its transfer encoding is not 'chunked'", coding)
        self._status = status
        if self._tunnel and status < 300:
            self._finish(keep=True)
            return
        length = headers.get("content-length")
        if length is not None and int(length) > self._largest:
            raise self._refuse_size()
        self._limit = LARGEST_HEAD + FRAMING * self._largest

    def on_body(self, data: bytes) -> None:
        """Process a part of the body."""
        body = self._body
        if len(body) + len(data) > self._largest:
            raise self._refuse_size()
        if self._response is not None:  # after the answer to CONNECT
            self._more = True
        elif not body:
            self._body = data
        elif isinstance(body, bytearray):
            body += data
        else:
            self._body = bytearray(body) + data

    def on_message_complete(self) -> None:
        """Finish a message: an interim one is dropped, a final one is the response."""
        if self._status:
            if self._response is None:
                self._finish(keep=self._parser.should_keep_alive())
        else:
            self._headers, self._fields = {}, 0

    def _finish(self, *, keep: bool) -> Response:
        body, coding = self._body, self._headers.get("content-encoding")
        if coding is not None and body:
            try:
                body = decoded(bytes(body), coding, self._largest)
            except CannotDecode as error:
                self._refuse(str(error), coding)
        self._response = Response(self._status, self._headers, bytes(body), keep)
        return self._response

    def _refuse(self, problem: str, excerpt: str = "") -> None:
        """Stop the parser. It wraps exceptions of callbacks, so ``feed`` raises the error stored here."""
        self._problem = InvalidResponse(problem, excerpt.encode("latin-1"))
        raise self._problem

    def _refuse_size(self) -> InvalidResponse:
        self._problem = InvalidResponse(
            f"its body has more than the {self._largest:,} bytes that max_tokens allows for"
        )
        return self._problem


@lru_cache(maxsize=256)
def _lower(name: bytes) -> str:
    """Return a header name in lower case, cached."""
    return name.lower().decode("latin-1")
