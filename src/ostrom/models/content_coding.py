"""Bodies that a server compressed although no compression was offered: decoded whole, or refused."""

from __future__ import annotations

import zlib

GZIP, ZLIB, RAW = 31, 15, -15
"""What ``zlib`` calls these formats."""


class CannotDecode(Exception):
    """The body cannot be decoded; the message says why."""


def decoded(body: bytes, coding: str, largest: int) -> bytes:
    """The body as it was before the server compressed it.

    >>> decoded(zlib.compress(b"{}"), "deflate", 10), decoded(zlib.compress(b"{}")[2:-4], "deflate", 10)
    (b'{}', b'{}')
    """
    name = coding.strip().lower()
    if name in ("", "identity"):
        return body
    if name in ("gzip", "x-gzip"):
        return _inflated(body, GZIP, largest, members=True)
    if name == "deflate":
        # The standard means zlib's format; some servers send the raw stream inside it.
        return _inflated(body, ZLIB if _is_zlib(body) else RAW, largest)
    raise CannotDecode("its content encoding was not offered (we read gzip and deflate)")


def _inflated(body: bytes, form: int, largest: int, *, members: bool = False) -> bytes:
    """All of a compressed body; gzip allows several members, one behind the other."""
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


def _is_zlib(body: bytes) -> bool:
    """Whether the two header bytes of zlib's format are there (RFC 1950); a raw stream never has them."""
    return len(body) > 1 and body[0] & 15 == 8 and int.from_bytes(body[:2], "big") % 31 == 0
