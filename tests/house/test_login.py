"""The password of the researcher's pages: a cookie that ends, whatever the wall clock does."""

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
        return {"password": request.password}


def entered(pages: Login, password: str = PASSWORD) -> Any:
    """A request with the cookie that a login gives."""
    return SimpleNamespace(cookies=cookies_of(asyncio.run(pages.enter(request_with(password)))))


def cookies_of(response: Response) -> dict[str, str]:
    """The cookies that a response sets."""
    pairs = [cookie.partition(";")[0].partition("=") for cookie in response.headers.getlist("set-cookie")]
    return {name: value for name, _, value in pairs}


def request_with(password: str = "", once: str = "", **cookies: str) -> Any:
    """A request that sends a password, or follows a link."""
    return SimpleNamespace(password=password, cookies=cookies, query_params={"once": once})


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


def test_the_cookies_go_to_this_site_alone_and_to_no_script(pages: Login) -> None:
    response = asyncio.run(pages.enter(request_with(PASSWORD)))
    known, session = (cookie.lower().split("; ")[1:] for cookie in response.headers.getlist("set-cookie"))
    assert sorted(session) == ["httponly", "path=/", "samesite=strict", "secure"]
    assert sorted({*known} - {*session}) == [f"max-age={login.RETURNING_DAYS * 86400}"]


def status_of(pages: Login, request: Any) -> tuple[int, bool]:
    """What a try gets, and whether it is logged in by it."""
    response = asyncio.run(pages.enter(request))
    return response.status_code, "set-cookie" in response.headers


def test_a_wrong_password_is_refused(pages: Login, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "PAUSE", 0)
    assert status_of(pages, request_with("a wrong password")) == (403, False)
    assert status_of(pages, request_with(PASSWORD)) == (303, True)


class Turns:
    """Counts the passwords that are checked; a wrong one ends its pause only when the test says so."""

    def __init__(self, pages: Login, monkeypatch: pytest.MonkeyPatch) -> None:
        self.checked: list[str] = []
        self.pauses: list[asyncio.Event] = []

        def right(password: str) -> bool:
            self.checked.append(password)
            return password == PASSWORD

        async def pause(_: float) -> None:
            self.pauses.append(asyncio.Event())
            await self.pauses[-1].wait()

        async def at_once(check: Any) -> Any:
            return check()

        monkeypatch.setattr(pages, "_right", right)
        clock = SimpleNamespace(**{**vars(asyncio), "sleep": pause, "to_thread": at_once})
        monkeypatch.setattr(login, "asyncio", clock)


def test_strangers_who_guess_never_keep_the_researcher_out(pages: Login, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = entered(pages).cookies
    restarted = Login("view", PASSWORD, pages.gatekeeper, asking, key=pages._key)
    turns = Turns(restarted, monkeypatch)
    assert not restarted.allowed(request_with(**browser)), "the session ended with the process"

    async def flood() -> None:
        guesses = [asyncio.create_task(restarted.enter(request_with("a guess"))) for _ in range(500)]
        while sum(guess.done() for guess in guesses) < 500 - login.MOST_WAITING:
            await asyncio.sleep(0)
        assert {guess.result().status_code for guess in guesses if guess.done()} == {429}
        assert turns.checked == ["a guess"], "one is checked at a time, with a pause after it"
        stranger = await restarted.enter(request_with(PASSWORD))
        assert stranger.status_code == 429 and login.FULL.encode() in bytes(stranger.body)
        response = await restarted.enter(request_with(PASSWORD, **browser))
        assert (response.status_code, turns.checked) == (303, ["a guess", PASSWORD]), "the next turn was the browser's"
        while not all(guess.done() for guess in guesses):
            for event in turns.pauses:
                event.set()
            await asyncio.sleep(0)
        assert turns.checked.count("a guess") == login.MOST_WAITING

    asyncio.run(flood())


@pytest.mark.parametrize("characters", [login.LONG, 1000])
def test_a_long_password_is_let_in_while_strangers_guess_in_turn(
    characters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gatekeeper: Any = Forms()
    pages = Login("view", "x" * characters, gatekeeper, asking)
    turns = Turns(pages, monkeypatch)
    pages._strangers.waiting = login.MOST_WAITING
    assert status_of(pages, request_with("x" * characters)) == (303, True)
    for wrong in ("", "x" * (characters - 1), "y" * characters, "\ud800" * characters):
        assert status_of(pages, request_with(wrong)) == (429, False)
    assert turns.checked == []
    short = Login("view", "x" * (login.LONG - 1), gatekeeper, asking)
    short._strangers.waiting = login.MOST_WAITING
    assert status_of(short, request_with("x" * (login.LONG - 1))) == (429, False), "its tries are bounded"


def test_the_link_of_the_terminal_logs_in_once_and_the_next_one_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    gatekeeper: Any = Forms()
    links: list[str] = []
    pages = Login("view", PASSWORD, gatekeeper, asking, print_link=links.append)
    turns = Turns(pages, monkeypatch)
    once = links[0].removeprefix("/login?once=")
    response = asyncio.run(pages.follow(request_with(once=once)))
    assert response.status_code == 303 and pages.allowed(request_with(**cookies_of(response)))
    assert turns.checked == [] and len(links) == 2, "it waits for nobody"
    for wrong in (once, "", "ä", links[1]):
        response = asyncio.run(pages.follow(request_with(once=wrong)))
        assert response.status_code == 403 and not cookies_of(response)
    assert len(links) == 2


def test_a_mark_of_a_browser_is_no_login_and_cannot_be_forged(pages: Login, monkeypatch: pytest.MonkeyPatch) -> None:
    known = entered(pages).cookies["ostrom_view_known"]
    assert not pages.allowed(request_with(ostrom_view_known=known, ostrom_view=known))
    turns = Turns(pages, monkeypatch)
    pages._strangers.waiting = login.MOST_WAITING
    for forged in ("", "x", sign(b"guess", "view-known", "x"), sign(pages._key, "view", "99999999")):
        assert status_of(pages, request_with(PASSWORD, ostrom_view_known=forged)) == (429, False)
    assert turns.checked == []
    assert status_of(pages, request_with(PASSWORD, ostrom_view_known=known)) == (303, True)


def test_without_a_password_there_is_none_to_be_right() -> None:
    gatekeeper: Any = Forms()
    links: list[str] = []
    pages = Login("view", None, gatekeeper, asking, print_link=links.append)
    assert asyncio.run(pages.enter(request_with(""))).status_code == 403
    assert asyncio.run(pages.follow(request_with(once=pages._once))).status_code == 403
    assert pages.allowed(request_with()) and not links


def test_a_signature_has_128_bits_and_every_one_of_them_counts() -> None:
    name, _, signature = sign(b"k", "visit", "abc").rpartition(".")
    assert (name, len(signature)) == ("abc", 22)  # six bits a character
    assert len(base64.urlsafe_b64decode(signature + "==")) == 16
    for place in range(22):
        other = "A" if signature[place] != "A" else "B"
        assert verified(b"k", "visit", f"abc.{signature[:place]}{other}{signature[place + 1 :]}") is None
    for token in ("", "abc", f"abc.{signature}x", f"abc.{signature[:-1]}", f"äbc.{signature}", f"abc.{'é' * 22}"):
        assert verified(b"k", "visit", token) is None
    long = sign(b"k", "visit", "a" * 178)
    assert len(long) == 201 and verified(b"k", "visit", long) is None
    assert verified(b"k", "visit", sign(b"k", "visit", "a" * 177)) == "a" * 177
