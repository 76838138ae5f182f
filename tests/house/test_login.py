"""The password of the researcher's pages: a cookie that ends, whatever the wall clock does."""

from __future__ import annotations

import asyncio
import base64
import time
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.responses import PlainTextResponse, Response

from ostrom.web import login
from ostrom.web.login import HOURS, Login
from ostrom.web.security import Refused
from ostrom.web.tokens import sign, verified

PASSWORD = "a long password"


class Forms:
    """A gatekeeper that lets every form through."""

    secure = True

    async def form(self, request: Any) -> dict[str, str]:
        return {"password": str(request)}


def entered(pages: Login, password: str = PASSWORD) -> Any:
    """A request with the cookie that a login gives."""
    request: Any = password
    cookie = asyncio.run(pages.enter(request)).headers["set-cookie"].partition(";")[0]
    name, _, value = cookie.partition("=")
    return SimpleNamespace(cookies={name: value})


def asking(problem: str, status: int) -> Response:
    """The page that asks for the password."""
    return PlainTextResponse(problem, status)


@pytest.fixture
def pages() -> Login:
    gatekeeper: Any = Forms()
    return Login("view", PASSWORD, gatekeeper, asking)


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the module see a clock that so much time has passed on."""
    now = time.monotonic()
    clock = SimpleNamespace(monotonic=lambda: now + seconds, time=time.time)
    monkeypatch.setattr(login, "time", clock)


def test_a_login_lasts_its_hours_and_no_longer(pages: Login, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = entered(pages)
    assert pages.allowed(visitor)
    later(monkeypatch, HOURS * 3600 - 60)
    assert pages.allowed(visitor)
    later(monkeypatch, HOURS * 3600 + 60)
    assert not pages.allowed(visitor)
    with pytest.raises(Refused, match="Log in first"):
        pages.require(visitor)


@pytest.mark.parametrize("jump", [-10 * 365 * 86400, 10 * 365 * 86400])
def test_a_wall_clock_that_jumps_neither_ends_nor_lengthens_a_login(
    pages: Login, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    visitor = entered(pages)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    assert pages.allowed(visitor)
    later(monkeypatch, HOURS * 3600 + 60)
    assert not pages.allowed(visitor)


def test_a_cookie_of_one_page_or_one_process_is_none_of_another(pages: Login) -> None:
    visitor = entered(pages)
    gatekeeper: Any = Forms()
    assert not Login("view", PASSWORD, gatekeeper, asking).allowed(visitor)
    forever = str(10**12)
    for value in ("", forever, sign(b"guess", "view", forever), sign(pages._key, "other", forever)):
        assert not pages.allowed(SimpleNamespace(cookies={"ostrom_view": value}))  # type: ignore[arg-type]
    assert pages.allowed(SimpleNamespace(cookies={"ostrom_view": sign(pages._key, "view", forever)}))  # type: ignore[arg-type]


def test_the_cookie_goes_to_this_site_alone_and_to_no_script(pages: Login) -> None:
    request: Any = PASSWORD
    _, *told = asyncio.run(pages.enter(request)).headers["set-cookie"].lower().split("; ")
    assert sorted(told) == ["httponly", "path=/", "samesite=strict", "secure"]


def test_a_wrong_password_and_too_many_tries_are_refused(
    pages: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tried(password: Any) -> tuple[int, bytes, bool]:
        reply = asyncio.run(pages.enter(password))
        return reply.status_code, bytes(reply.body), "set-cookie" in reply.headers

    for _ in range(login.MOST_TRIES):
        assert tried("a wrong password") == (403, b"This is not the password.", False)
    assert tried(PASSWORD) == (429, b"Too many tries. Wait a minute.", False)
    later(monkeypatch, 61)
    assert pages.allowed(entered(pages))


def test_without_a_password_there_is_none_to_be_right() -> None:
    gatekeeper: Any = Forms()
    pages = Login("view", None, gatekeeper, asking)
    request: Any = ""
    assert asyncio.run(pages.enter(request)).status_code == 403
    assert pages.allowed(SimpleNamespace(cookies={}))  # type: ignore[arg-type]


def test_a_signature_has_128_bits_and_every_one_of_them_counts() -> None:
    name, _, signature = sign(b"k", "visit", "abc").rpartition(".")
    assert (name, len(signature)) == ("abc", 22)  # six bits a character
    assert len(base64.urlsafe_b64decode(signature + "==")) == 16
    for place in range(22):
        other = "A" if signature[place] != "A" else "B"
        assert verified(b"k", "visit", f"abc.{signature[:place]}{other}{signature[place + 1 :]}") is None
    for token in (
        "",
        "abc",
        f"abc.{signature}x",
        f"abc.{signature[:-1]}",
        f"äbc.{signature}",
        f"abc.{'é' * 22}",
    ):
        assert verified(b"k", "visit", token) is None
    long = sign(b"k", "visit", "a" * 178)
    assert len(long) == 201 and verified(b"k", "visit", long) is None
    assert verified(b"k", "visit", sign(b"k", "visit", "a" * 177)) == "a" * 177
