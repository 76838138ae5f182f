"""One password for pages that only the researcher may see: scrypt, a signed cookie, few tries a minute."""

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ostrom.web.security import Gatekeeper, Refused
from ostrom.web.tokens import sign, verified

HOURS = 12
MOST_TRIES = 10
"""Tries a minute, from everywhere together."""


class Login:
    """Who may come in; without a password everybody who reaches the port."""

    def __init__(
        self,
        purpose: str,
        password: str | None,
        gatekeeper: Gatekeeper,
        ask: Callable[[str, int], Response],
    ) -> None:
        """``ask`` draws the page that asks for the password, with what was wrong with the last try."""
        self._ask = ask
        self.purpose, self.cookie, self.gatekeeper = purpose, f"ostrom_{purpose}", gatekeeper
        self._salt, self._key = secrets.token_bytes(16), secrets.token_bytes(32)
        self._hash = None if password is None else self._hashed(password)
        self._tries: list[float] = []

    def _hashed(self, password: str) -> bytes:
        return hashlib.scrypt(password.encode(), salt=self._salt, n=2**14, r=8, p=1)

    def allowed(self, request: Request) -> bool:
        """Whether a request comes from somebody who is logged in."""
        if self._hash is None:
            return True
        until = verified(self._key, self.purpose, request.cookies.get(self.cookie, ""))
        return until is not None and until.isdecimal() and int(until) > time.monotonic()

    def require(self, request: Request) -> None:
        """Refuse a request from anybody else."""
        if not self.allowed(request):
            raise Refused(403, "Log in first.")

    async def enter(self, request: Request) -> Response:
        """Check the password of a form; a few tries a minute are all there are."""
        form = await self.gatekeeper.form(request)
        self._tries = [at for at in self._tries if time.monotonic() - at < 60]
        if len(self._tries) >= MOST_TRIES:
            return self._ask("Too many tries. Wait a minute.", 429)
        self._tries.append(time.monotonic())
        given = await asyncio.to_thread(self._hashed, form.get("password", "")[:1000])
        if self._hash is None or not hmac.compare_digest(given, self._hash):
            return self._ask("This is not the password.", 403)
        response = RedirectResponse("/", 303)
        # No wall clock: the key lives as long as this process, and so does its monotonic clock.
        until = str(int(time.monotonic()) + HOURS * 3600)
        response.set_cookie(
            self.cookie, sign(self._key, self.purpose, until), httponly=True, samesite="strict", path="/",
            secure=self.gatekeeper.secure,
        )  # fmt: skip
        return response
