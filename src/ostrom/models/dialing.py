"""Opening a connection to a name that stands for several addresses (RFC 8305, "happy eyeballs").

asyncio can do this by itself and uvloop cannot, so it is done here for both.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from ipaddress import ip_address
from itertools import chain, zip_longest
from typing import Any, TypeVar

from ostrom.models.tls import CLOSED

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
