"""Addresses and keys: which server is meant, and where the text of a key comes from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from ostrom.ground.errors import UsageError

OWN_VARIABLE = "OSTROM_API_KEY"


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of a URL: what decides whether two addresses are the same server.

    >>> origin("https://API.example.org/v1") == origin("https://api.example.org:443")
    True
    >>> origin("http://api.example.org") == origin("https://api.example.org")
    False
    """
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, (parts.hostname or "").lower(), parts.port or {"http": 80, "https": 443}.get(scheme)


def checked_url(url: str, *, source: str) -> str:
    """A base URL without trailing slash; refuses what is no plain http address or carries a password."""
    try:
        parts = urlsplit(url.strip())
        parts.port  # noqa: B018 - reading it checks the number
    except ValueError:
        raise UsageError(f"{source}: {url.strip()!r} is not a URL: its host or port is none") from None
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"{source}: put the key into an environment variable, not into the URL")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{source}: {url!r} is not of the form http://host:port/v1")
    if parts.query:
        raise UsageError(f"{source}: a base URL has no query part")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def host_of(url: str) -> str:
    """Host and port as written, for messages.

    >>> host_of("http://127.0.0.1:8000/v1")
    '127.0.0.1:8000'
    """
    return urlsplit(url).netloc


def is_local(url: str) -> bool:
    """Whether the address is this very machine.

    >>> is_local("http://localhost:8000/v1"), is_local("https://api.example.org")
    (True, False)
    """
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # a name, and be it 127.0.0.1.example.org
        return False


def first_set(variables: Iterable[str]) -> str | None:
    """The value of the first environment variable that is set and not empty."""
    for variable in variables:
        value = os.environ.get(variable, "").strip()
        if value:
            return value
    return None


def as_header(key: str, *, source: str) -> str:
    """The key, checked: a line break or a letter outside ASCII can never be part of a header."""
    if not key.isascii() or not key.isprintable():
        raise UsageError(f"{source}: the key holds characters that no key has (a line break, a quote mark?)")
    return key
