"""Password login for the researcher's pages: scrypt, a signed cookie, and tries that are checked one at a time."""

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
RETURNING_DAYS = 180
"""Days during which a browser that logged in does not wait behind strangers."""
PAUSE = 0.5
"""Seconds after a wrong password during which its queue checks no other."""
LONG = 20
"""The length from which a password cannot be guessed, so that it is checked on arrival."""
MOST_WAITING = 8
"""The most waiting tries in one queue; more are refused unread."""
FULL = (
    "Too many wrong passwords come in. Use a browser that logged in before, or the link that the server printed "
    "in its terminal."
)


class Queue:
    """Password tries, checked one after the other."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self.waiting = 0

    async def check(self, right: Callable[[], bool]) -> bool | None:
        """Check a password when its turn comes: whether it is right, or None if too many tries wait."""
        if self.waiting >= MOST_WAITING:
            return None
        self.waiting += 1
        try:
            async with self._turn:
                passed = await asyncio.to_thread(right)
                if not passed:
                    await asyncio.sleep(PAUSE)
                return passed
        finally:
            self.waiting -= 1


class Login:
    """Access control; without a password everybody who reaches the port is allowed.

    Strangers wait in one queue, browsers that logged in before in another, and the link for one login needs no queue:
    so nobody who guesses passwords keeps the researcher out. A right password of at least ``LONG`` characters needs no
    queue either. A shorter one has to wait, because only the queue limits how many passwords can be tried.
    """

    def __init__(
        self,
        purpose: str,
        password: str | None,
        gatekeeper: Gatekeeper,
        ask: Callable[[str, int], Response],
        *,
        key: bytes | None = None,
        print_link: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Set up the login; ``ask`` renders the password page, with the error of the last try.

        ``key`` marks browsers that logged in, across restarts where the caller keeps it. ``print_link`` shows the
        researcher the path of the one-use link: at once, and a new one whenever it was used.
        """
        self._ask, self._print_link = ask, print_link
        self.purpose, self.cookie, self.gatekeeper = purpose, f"ostrom_{purpose}", gatekeeper
        self._salt, self._key = secrets.token_bytes(16), secrets.token_bytes(32)
        self._returning_key = key or self._key
        self._hash = None if password is None else self._hashed(password)
        self._long = self._mac(password) if password is not None and len(password) >= LONG else None
        self._strangers, self._returning = Queue(), Queue()
        self._renew_link()

    def _hashed(self, password: str) -> bytes:
        return hashlib.scrypt(password.encode(), salt=self._salt, n=2**14, r=8, p=1)

    def _mac(self, password: str) -> bytes:
        return hmac.digest(self._key, password.encode(errors="surrogatepass"), "sha256")

    def _renew_link(self) -> None:
        self._once = secrets.token_urlsafe(24)
        if self._hash is not None:
            self._print_link(f"/login?once={self._once}")

    def allowed(self, request: Request) -> bool:
        """Whether a request comes from somebody who is logged in."""
        if self._hash is None:
            return True
        until = verified(self._key, self.purpose, request.cookies.get(self.cookie, ""))
        return until is not None and until.isdecimal() and int(until) > time.monotonic()

    def require(self, request: Request) -> None:
        """Refuse a request from anybody who is not logged in."""
        if not self.allowed(request):
            raise Refused(403, "Log in first.")

    async def enter(self, request: Request) -> Response:
        """Check the password of a form: a long one on arrival, any other in its turn."""
        password = (await self.gatekeeper.form(request)).get("password", "")[:1000]
        if self._long is not None and hmac.compare_digest(self._mac(password), self._long):
            return self._logged_in()
        mark = verified(self._returning_key, f"{self.purpose}-known", request.cookies.get(f"{self.cookie}_known", ""))
        queue = self._strangers if mark is None else self._returning
        passed = await queue.check(lambda: self._right(password))
        if passed is None:
            return self._ask(FULL, 429)
        return self._logged_in() if passed else self._ask("This is not the password.", 403)

    def _right(self, password: str) -> bool:
        return self._hash is not None and hmac.compare_digest(self._hashed(password), self._hash)

    async def follow(self, request: Request) -> Response:
        """Log in by the one-use link of the terminal, which then prints the next one."""
        if self._hash is None or not hmac.compare_digest(
            request.query_params.get("once", "").encode(), self._once.encode()
        ):
            return self._ask("This link was used before. The newest one is in the terminal of the server.", 403)
        self._renew_link()
        return self._logged_in()

    def _logged_in(self) -> Response:
        response = RedirectResponse("/", 303)
        # No wall clock: the key lives as long as this process, and so does its monotonic clock.
        mark = sign(self._returning_key, f"{self.purpose}-known", secrets.token_urlsafe(12))
        for name, value, age in (
            (f"{self.cookie}_known", mark, RETURNING_DAYS * 86400),
            (self.cookie, sign(self._key, self.purpose, str(int(time.monotonic()) + HOURS * 3600)), None),
        ):
            response.set_cookie(
                name, value, age, httponly=True, samesite="strict", path="/", secure=self.gatekeeper.secure
            )
        return response
