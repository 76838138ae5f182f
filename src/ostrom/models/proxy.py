"""The proxy on the way to a server, from the environment, by the rules that curl and requests share.

``http_proxy`` or ``https_proxy``, by the scheme of the server's address, comes before ``all_proxy``. The lower-case
name comes before the upper-case one, and an empty value means no proxy. ``no_proxy`` lists exceptions: host names
(with their subdomains), addresses, networks (``10.0.0.0/8``), each with a port if need be, or ``*``. This machine
is never reached through a proxy. SOCKS proxies are refused: a run must not go another way than it was told.
"""

from __future__ import annotations

import base64
import os
from ipaddress import ip_address, ip_network
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from ostrom.ground.errors import UsageError
from ostrom.models.keys import is_local
from ostrom.models.tls import is_address


class Proxy(NamedTuple):
    """An HTTP proxy."""

    host: str
    port: int
    secure: bool
    headers: tuple[str, ...]

    @property
    def place(self) -> str:
        """Host and port, for messages."""
        return f"{self.host}:{self.port}"

    @classmethod
    def towards(cls, url: str) -> Proxy | None:
        """The proxy for this address, if there is one."""
        target = urlsplit(url)
        if is_local(url) or target.hostname is None:
            return None
        variable, named = _first_set(f"{target.scheme}_proxy", "all_proxy")
        if not named or _is_exempt(target):
            return None
        return cls._parsed(variable, named)

    @classmethod
    def _parsed(cls, variable: str, named: str) -> Proxy:
        # The address may hold a password: no message repeats it.
        wrong = UsageError(f"{variable}: not the address of an HTTP proxy (as http://host:port)")
        try:
            parts = urlsplit(named if "://" in named else f"http://{named}")
            port = parts.port
        except ValueError:
            raise wrong from None
        if parts.scheme.startswith("socks"):
            raise UsageError(
                f"{variable}: SOCKS proxies are not supported (name an HTTP proxy in https_proxy, or put the "
                "server into no_proxy to reach it directly)"
            )
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise wrong
        secure = parts.scheme == "https"
        who = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        login = f"Proxy-Authorization: Basic {base64.b64encode(who.encode()).decode()}"
        return cls(parts.hostname, port or (443 if secure else 80), secure, (login,) if who != ":" else ())


def _first_set(*names: str) -> tuple[str, str]:
    """Name and value of the first variable that is set; a name counts in lower case, then in upper case."""
    for name in names:
        for variable in (name, name.upper()):
            # Under CGI a client can set HTTP_PROXY by sending a header "Proxy".
            if variable == "HTTP_PROXY" and "REQUEST_METHOD" in os.environ:
                continue
            if variable in os.environ:
                return variable, os.environ[variable].strip()
    return "", ""


def _is_exempt(target: SplitResult) -> bool:
    """Whether ``no_proxy`` lists this server."""
    variable, listed = _first_set("no_proxy")
    host = (target.hostname or "").rstrip(".").lower()
    port = target.port or (443 if target.scheme == "https" else 80)
    return any(_matches(entry.lower(), host, port, variable) for entry in listed.replace(",", " ").split())


def _matches(entry: str, host: str, port: int, variable: str) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        try:
            network = ip_network(entry, strict=False)
        except ValueError:
            raise UsageError(f"{variable}: {entry!r} is not a network (as 10.0.0.0/8)") from None
        return is_address(host) and ip_address(host) in network
    if is_address(entry):
        return is_address(host) and ip_address(host) == ip_address(entry)
    name, colon, number = entry.rpartition(":")
    if colon:
        if not number.isdigit():
            if not entry.startswith("["):
                raise UsageError(f"{variable}: {entry!r} is not host:port")
            name, number = entry, str(port)
        if int(number) != port:
            return False
        entry = name
    entry = entry.strip("[]").removeprefix("*").strip(".")
    if is_address(entry):
        return is_address(host) and ip_address(host) == ip_address(entry)
    return bool(entry) and (host == entry or host.endswith(f".{entry}"))
