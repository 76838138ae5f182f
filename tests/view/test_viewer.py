"""What all pages share: where the server listens, and what it sends to pages that are open."""

import asyncio
import socket
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from ostrom.ground.errors import UsageError
from ostrom.view import runs
from ostrom.view import viewer as pages
from ostrom.view.viewer import Viewer, address_of, message, stream
from ostrom.web.security import Refused


def test_a_stream_sends_news_and_says_that_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PING", 0.002)
    woken: list[int] = []
    watching: Any = SimpleNamespace(watchers=0, refresh=lambda: woken.append(watching.watchers))
    viewer: Any = SimpleNamespace(watching=watching, closing=asyncio.Event())
    told = [[b"one"], [], [], [], [b"two"]]

    async def news() -> list[bytes]:
        if len(told) == 1:
            viewer.closing.set()
        return told.pop(0)

    async def sent() -> list[bytes]:
        reply: Any = stream(viewer, news, 0.001)
        assert reply.media_type == "text/event-stream" and reply.headers["x-accel-buffering"] == "no"
        return [piece async for piece in reply.body_iterator]

    ping = b"event: ping\ndata: 0\n\n"
    assert asyncio.run(sent()) == [b"retry: 2000\n" + ping, b"one", ping, b"two"]
    assert woken == [1] and watching.watchers == 0
    watching.watchers = 99
    stream(viewer, news, 1.0)
    watching.watchers = 100
    with pytest.raises(Refused, match=r"^Too many pages are open\.$") as refused:
        stream(viewer, news, 1.0)
    assert refused.value.status == 429
    assert message("a", "<b>") == b'event: cells\ndata: {"run":"a","html":"<b>"}\n\n'


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:80/"), ("0.0.0.0", "http://127.0.0.1:80/"), ("::", "http://[::1]:80/"),
        ("::1", "http://[::1]:80/"), ("10.0.0.7", "http://10.0.0.7:80/"),
    ],
)  # fmt: skip
def test_a_browser_here_is_told_an_address_it_can_reach(host: str, address: str) -> None:
    listening: Any = SimpleNamespace(getsockname=lambda: (host, 80, 0, 0))
    assert address_of(listening) == address


def test_an_address_that_others_reach_needs_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OSTROM_VIEW_PASSWORD", raising=False)
    with pytest.raises(UsageError, match="set OSTROM_VIEW_PASSWORD"):
        pages.bound("0.0.0.0", 0)
    listening, password = pages.bound("localhost", 0)
    with listening:
        assert password is None and isinstance(listening, socket.socket)
    monkeypatch.setenv("OSTROM_VIEW_PASSWORD", "twelve signs")
    listening, password = pages.bound("127.0.0.1", 0)
    with listening:
        assert password == "twelve signs"


@pytest.mark.parametrize(
    ("only", "told", "part"), [(None, [b"b _cells", b"c _cells"], "_cells"), ("c", [b"c _pulse"], "_pulse")]
)
def test_pages_hear_of_runs_that_changed_since_they_asked(
    monkeypatch: pytest.MonkeyPatch, only: str | None, told: list[bytes], part: str
) -> None:
    heard: list[Any] = []
    monkeypatch.setattr(runs, "stream", lambda _, news, every: heard.extend((news, every)))
    monkeypatch.setattr(runs, "_message", lambda _, name, part: f"{name} {part}".encode())
    watching = SimpleNamespace(
        version=3, changed={"a": 3, "b": 4, "c": 5, "d": 4}, statuses=dict.fromkeys("abc"), drawn={}
    )
    viewer: Any = SimpleNamespace(watching=watching)
    request: Any = SimpleNamespace(query_params={} if only is None else {"run": only})
    runs.events(viewer, request)
    news, every = heard
    assert every == 0.25 and asyncio.run(news()) == []
    watching.version = 5
    assert asyncio.run(news()) == told and asyncio.run(news()) == []


def test_a_message_about_a_run_is_drawn_once_for_each_change(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    def draw(part: str, **_: Any) -> str:
        drawn.append(part)
        return f"<{part}>"

    monkeypatch.setattr(runs, "draw", draw)
    monkeypatch.setattr(runs, "_row", lambda _, name: {"name": name})
    watching = SimpleNamespace(changed={"a": 1}, drawn={})
    viewer: Any = SimpleNamespace(watching=watching)
    first = [runs._message(viewer, "a", part) for part in ("_cells", "_cells", "_pulse")]
    assert first == [message("a", "<_cells>")] * 2 + [message("a", "<_pulse>")] and drawn == ["_cells", "_pulse"]
    watching.changed["a"] = 2
    runs._message(viewer, "a", "_cells")
    assert drawn == ["_cells", "_pulse", "_cells"]


@pytest.mark.parametrize(
    ("target", "complete", "moved"),
    [("indexing", None, True), ("indexing", True, True), ("indexing", False, False), ("rows", True, False)],
)
def test_a_page_takes_the_place_of_the_note_once_nothing_is_missing(
    target: str, complete: bool | None, moved: bool
) -> None:
    headers = [(b"hx-target", target.encode()), (b"host", b"x")]
    request = Request({"type": "http", "method": "GET", "path": "/a", "query_string": b"", "headers": headers})
    progress = None if complete is None else SimpleNamespace(complete=complete)
    viewer: Any = SimpleNamespace(tabs=[])
    page = Viewer.page(viewer, request, "trouble", code=404, title="Not shown", line="why", progress=progress)
    assert page.status_code == 404 and b"why" in bytes(page.body)
    assert page.headers.get("hx-retarget") == ("#main" if moved else None)
