"""HTTP/1.1 responses from bytes as they arrive. ``httptools`` (llhttp) parses; this file sets the limits.

llhttp is strict: it refuses bare LF line ends, folded headers, two lengths, and a Content-Length beside a
Transfer-Encoding. It sets no limits on size, so every limit is here, counted to the byte: the result does not
depend on how the network cuts the bytes into pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from ostrom.models.content_coding import CannotDecode, decoded
from ostrom.models.reply_size import LARGEST_BODY

LARGEST_HEAD = 1 << 17
"""Bytes of the status line and the headers, those of interim (1xx) responses included."""
MOST_HEADERS = 256
FRAMING = 16
"""A chunked body may take this many bytes on the wire for each byte that it holds."""
_PREFIX = b"HTTP/1."
_TLS_RECORD = (b"\x15\x03", b"\x16\x03")


class InvalidResponse(Exception):
    """The server sent something that is not an HTTP response, or one that was not asked for.

    ``found`` is what it sent, uncut: keys have to be redacted before it is cut to a length that can be shown.
    """

    def __init__(self, problem: str, found: bytes = b"") -> None:
        super().__init__(problem)
        self.found = found


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

    def __init__(self, *, tunnel: bool = False) -> None:
        self._tunnel = tunnel
        """A proxy's 2xx answer to CONNECT ends with its headers, whatever length they state."""
        self._parser = HttpResponseParser(self)
        # Some servers pad the length of a chunk with spaces; that is harmless.
        self._parser.set_dangerous_leniencies(lenient_spaces_after_chunk_size=True)
        self.expect(LARGEST_BODY)

    def expect(self, largest: int) -> None:
        """Begin a new response whose body has at most so many bytes, packed and unpacked."""
        self._largest = largest
        self._limit = LARGEST_HEAD
        self._received = self._fields = 0
        self._opening = b""
        self._headers: dict[str, str] = {}
        self._status = 0
        """The status of the final response once its headers are complete; 0 before that."""
        self._body: bytes | bytearray = b""
        self._problem: InvalidResponse | None = None
        self._response: Response | None = None
        self._more = False
        """Bytes came behind the response."""

    @property
    def begun(self) -> bool:
        """Whether part of a response has arrived."""
        return self._received > 0 or bool(self._opening)

    def feed(self, data: bytes) -> Response | None:
        """Take bytes; the response once it is complete. Raises InvalidResponse."""
        if not self._received:
            if self._opening:
                data = self._opening + data
            if not data.startswith(_PREFIX):
                if not _PREFIX.startswith(data):
                    raise InvalidResponse(_not_http(data), data)
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
                more = self._more or piece is not data
                return self._response._replace(keep=False) if more else self._response
            if piece is data:
                return None
            data = data[room:]
            if self._received >= self._limit:
                raise self._too_long()

    def end(self) -> Response | None:
        """The server closed the connection: the response, if its end was to be marked by that."""
        headers = self._headers
        framed = "content-length" in headers or "transfer-encoding" in headers
        return self._finish(keep=False) if self._status and not framed else None

    # -- called by the parser ------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A message begins; behind a complete response nothing may follow."""
        if self._response is not None:
            self._refuse("bytes follow its response")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer behind a chunked body, which is only counted."""
        self._fields += 1
        if self._fields > MOST_HEADERS:
            self._refuse(f"it has more than {MOST_HEADERS} headers")
        if self._status:
            return
        key, text = _lower(name), value.decode("latin-1").strip(" \t")
        headers = self._headers
        headers[key] = f"{headers[key]}, {text}" if key in headers else text

    def on_headers_complete(self) -> None:
        """The headers are complete: the rules that they have to keep."""
        status = self._parser.get_status_code()
        if 100 <= status < 200:
            if status == 101:
                self._refuse("it wants to change to another protocol")
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
        """Part of the body."""
        body = self._body
        if len(body) + len(data) > self._largest:
            raise self._refuse_size()
        if self._response is not None:  # behind the answer to CONNECT
            self._more = True
        elif not body:
            self._body = data
        elif isinstance(body, bytearray):
            body += data
        else:
            self._body = bytearray(body) + data

    def on_message_complete(self) -> None:
        """A message ends: an interim one is dropped, a final one is the response."""
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

    def _refuse(self, problem: str, found: str = "") -> None:
        """Stop the parser. It wraps what its callbacks raise, so ``feed`` raises what is kept here."""
        self._problem = InvalidResponse(problem, found.encode("latin-1"))
        raise self._problem

    def _refuse_size(self) -> InvalidResponse:
        self._problem = InvalidResponse(
            f"its body has more than the {self._largest:,} bytes that max_tokens allows for"
        )
        return self._problem

    def _too_long(self) -> InvalidResponse:
        if not self._status:
            return InvalidResponse(f"its headers have more than {LARGEST_HEAD:,} bytes")
        return InvalidResponse(f"the framing of its chunks has more than {FRAMING - 1} bytes a byte")


@lru_cache(maxsize=256)
def _lower(name: bytes) -> str:
    """The name of a header in lower case. A server sends the same names with every response."""
    return name.lower().decode("latin-1")


def _not_http(data: bytes) -> str:
    if data.startswith(_TLS_RECORD):
        return "it speaks TLS at this port: write https:// instead of http://"
    return "its response does not begin with HTTP/1"
