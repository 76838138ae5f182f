"""Opening a connection: to a name that stands for several addresses, and with TLS.

TLS says which certificates are trusted, and why a handshake failed, in words. Several addresses are tried as RFC 8305
("happy eyeballs") says: asyncio can do this by itself and uvloop cannot, so it is done here for both.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from ipaddress import ip_address
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, TypeVar

from ostrom.ground.errors import UsageError

CLOSED = "it closed the connection during the TLS handshake"
_TRUST = "SSL_CERT_FILE names a file of further certificates to trust"
_UNKNOWN = f"its certificate was issued by an authority that this machine does not know ({_TRUST})"
# The codes of X509_V_ERR_* in OpenSSL; they have not changed since they were introduced.
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


def client_context() -> ssl.SSLContext:
    """The system's certificates, or those that SSL_CERT_FILE and SSL_CERT_DIR name."""
    return ssl.create_default_context()


def check_trust() -> None:
    """Refuse a missing certificate file: OpenSSL would silently trust no server."""
    file, folders = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file and not Path(file).is_file():
        raise UsageError(f"SSL_CERT_FILE: there is no file {file!r}")
    if folders and not any(Path(folder).is_dir() for folder in folders.split(os.pathsep)):
        raise UsageError(f"SSL_CERT_DIR: there is no folder {folders!r}")


def reason(error: ssl.SSLError) -> str:
    """Why TLS failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _OTHER_HOST:
            return f"its certificate is for another host ({error.verify_message.rstrip('.')})"
        return _CERTIFICATE.get(error.verify_code, f"its certificate was refused ({error.verify_message})")
    if isinstance(error, ssl.SSLEOFError):
        return CLOSED
    name = error.reason or ""
    return _HANDSHAKE.get(name, f"TLS failed: {name.replace('_', ' ').lower() or error}")


HEAD_START = 0.25
"""Seconds after which the next address is tried beside those that have not answered."""


class Abortable(asyncio.Protocol):
    """A protocol whose connection can be closed at once."""

    def abort(self) -> None:
        """Close the connection."""
        raise NotImplementedError


P = TypeVar("P", bound=Abortable)


async def dial(make: Callable[[], P], host: str, port: int, tls: ssl.SSLContext | None) -> P:
    """Connect to whichever address of a host answers first. Raises the OSError of the first address."""
    loop = asyncio.get_running_loop()

    async def attempt(address: str) -> P:
        name = None if tls is None else host
        try:
            _, made = await loop.create_connection(make, address, port, ssl=tls, server_hostname=name)
        except ConnectionResetError as error:
            if tls is None or str(error):
                raise
            # The error asyncio raises when the server closes the connection during the TLS handshake has no message.
            raise ConnectionResetError(CLOSED) from None
        return made

    if is_address(host):
        return await attempt(host)
    waiting = deque(_in_turn(await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
    trying: set[asyncio.Task[P]] = set()
    failed: list[BaseException] = []
    try:
        while waiting or trying:
            if waiting:
                trying.add(asyncio.create_task(attempt(waiting.popleft())))
            retry = HEAD_START if waiting else None
            done, trying = await asyncio.wait(trying, timeout=retry, return_when=asyncio.FIRST_COMPLETED)
            failed += [error for task in done if (error := task.exception()) is not None]
            made = [task for task in done if task.exception() is None]
            if made:
                trying.update(made[1:])
                return made[0].result()
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


def _in_turn(found: Iterable[tuple[Any, ...]]) -> list[str]:
    """The addresses, families in turn: the first that the resolver gives, then one of the other family, ..."""
    families: dict[object, list[str]] = {}
    for family, *_, address in found:
        families.setdefault(family, []).append(str(address[0]))
    mixed = chain.from_iterable(zip_longest(*families.values()))
    return list(dict.fromkeys(address for address in mixed if address is not None))


def _abort(task: asyncio.Task[P]) -> None:
    """Close a connection that came too late."""
    with suppress(asyncio.CancelledError, OSError):
        task.result().abort()
