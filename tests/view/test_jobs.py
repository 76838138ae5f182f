"""Commands that a page makes, confirms, starts and stops."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from ostrom.ground.errors import UsageError
from ostrom.view import jobs as module
from ostrom.view import runs
from ostrom.view import viewer as pages
from ostrom.view.actions import intent_of
from ostrom.view.jobs import Intent, Jobs, own
from ostrom.view.viewer import Viewer, address_of, message, stream
from ostrom.web.security import Refused

BRANCH = {"kind": "branch", "round": "2", "budget_calls": "5"}
WHY = {"kind": "attribute", "round": "3", "seat": "1", "budget_tokens": "7"}


def arguments(form: dict[str, str]) -> list[str]:
    """What a form asks for, between the run and the name of what it makes."""
    shelf = SimpleNamespace(folder=lambda name: SimpleNamespace(path=Path("/runs") / name))
    viewer: Any = SimpleNamespace(shelf=shelf)
    intent = intent_of(viewer, "plain", 4, form)
    first, name = list(intent.arguments[:4]), intent.arguments.index("--name")
    assert first == [form["kind"], "/runs/plain", "--match", "4"] and intent.run == "plain"
    assert list(intent.arguments[name:]) == ["--name", intent.makes, "--runs", "/runs", "--json"]
    assert intent.makes.startswith(f"{form['kind']}-plain-m4-r{form['round']}-")
    assert intent.kind == form["kind"] and intent.command.startswith(f"ostrom {form['kind']} /runs/plain")
    return list(intent.arguments[4:name])


@pytest.mark.parametrize(
    ("form", "command"),
    [
        (BRANCH, "--at 2 --seeds 1 --budget-calls 5"),
        ({**BRANCH, "seeds": "10000", "seat": "2"}, "--at 2 --seeds 10000 --seat 2 --budget-calls 5"),
        ({**BRANCH, "changes": " memory=none \n\n a=b=c"},
         "--at 2 --seeds 1 --set memory=none --set a=b=c --budget-calls 5"),
        ({**BRANCH, "budget_tokens": "9", "budget_usd": "1e6"},
         "--at 2 --seeds 1 --budget-calls 5 --budget-tokens 9 --budget-usd 1e+06"),
        (WHY, "--round 3 --seat 1 --method both --samples 20 --budget-tokens 7"),
        ({**WHY, "method": "flip", "samples": "10000", "last": "4"},
         "--round 3 --seat 1 --method flip --samples 10000 --last 4 --budget-tokens 7"),
        ({**BRANCH, "changes": "a=b\n" * 10}, "--at 2 --seeds 1" + " --set a=b" * 10 + " --budget-calls 5"),
    ],
)  # fmt: skip
def test_a_form_becomes_the_command_that_one_would_type(form: dict[str, str], command: str) -> None:
    assert arguments(form) == command.split()


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ({}, "kind '' (allowed: attribute, branch)"),
        ({**WHY, "method": "guess"}, "method 'guess' (allowed: drop, flip, both)"),
        ({**WHY, "samples": "10001"}, "samples: '10001' must be a whole number of at least 1"),
        ({**WHY, "seat": ""}, "seat: '' must be a whole number of at least 1"),
        ({**BRANCH, "round": "0"}, "round: '0' must be a whole number of at least 1"),
        ({**BRANCH, "seeds": "10001"}, "seeds: '10001' must be a whole number of at least 1"),
        ({**BRANCH, "changes": "a=b\n" * 11}, "changes: one KEY=VALUE a line, 10 at the most (memory=window:2)"),
        ({**BRANCH, "changes": "a"}, "changes: one KEY=VALUE a line, 10 at the most (memory=window:2)"),
        ({**BRANCH, "changes": "-a=b"}, "changes: one KEY=VALUE a line, 10 at the most (memory=window:2)"),
        ({**BRANCH, "budget_calls": "0"}, "budget of calls: '0' must be a whole number of at least 1"),
        ({**BRANCH, "budget_tokens": "x"}, "budget of tokens: 'x' must be a whole number of at least 1"),
        ({**BRANCH, "budget_usd": "0"}, "budget in dollars: '0' must be a number above 0"),
        ({**BRANCH, "budget_usd": "1000001"}, "budget in dollars: '1000001' must be a number above 0"),
        ({**BRANCH, "budget_usd": "some"}, "budget in dollars: 'some' must be a number above 0"),
        ({"kind": "branch", "round": "1"}, "a budget is missing: say how many calls, tokens or dollars this may take"),
    ],
)  # fmt: skip
def test_what_a_form_lacks_is_said(form: dict[str, str], line: str) -> None:
    with pytest.raises(UsageError) as refused:
        arguments(form)
    assert str(refused.value) == line


def test_another_command_makes_another_run() -> None:
    shelf = SimpleNamespace(folder=lambda name: SimpleNamespace(path=Path("/runs") / name))
    viewer: Any = SimpleNamespace(shelf=shelf)
    made = {intent_of(viewer, "a" * 70, 4, {**BRANCH, "seeds": n}).makes for n in ("1", "1", "2")}
    assert len(made) == 2 and all(name.startswith(f"branch-{'a' * 60}-m4-r2-") for name in made)


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Jobs whose command is a script: `sleep` waits, a number is an exit code, anything else is said."""
    script = tmp_path / "command"
    script.write_text(
        '#!/bin/sh\ncase "$3" in sleep) exec sleep 60;; [0-9]*) exit "$3";; *) echo "$2 $3";; esac\n'
    )
    script.chmod(0o700)
    monkeypatch.setattr(module, "sys", SimpleNamespace(executable=str(script)))
    jobs = Jobs()
    yield jobs
    jobs.close()


def started(jobs: Jobs, does: str, makes: str, run: str = "plain") -> str:
    return jobs.confirm(jobs.ask(Intent((does,), run, makes, "branch")), run)


def test_a_command_runs_once_and_tells_how_it_ended(commands: Jobs) -> None:
    numbers = [started(commands, does, does) for does in ("hello", "3")]
    for number in numbers:
        commands.job(number).process.wait(300)
    said, failed = (commands.job(number) for number in numbers)
    assert (said.state, said.said.strip(), failed.state) == ("done", "ostrom hello", "ended with code 3")
    assert said.ended is not None and said.ended >= said.began - 1
    assert [key for key, _ in commands.of("plain")] == numbers[::-1] and commands.of("other") == []
    commands.stop(numbers[0])
    with pytest.raises(UsageError, match=r"^there is no such job \("):
        commands.job("none")


def test_what_is_confirmed_is_confirmed_once_in_time_and_for_its_run(
    commands: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = r"^this was confirmed before, or too late: ask for it again$"
    nonce = commands.ask(Intent(("0",), "plain", "one", "branch"))
    assert len(nonce) == 32
    commands.confirm(nonce, "plain")
    late = Intent(("0",), "plain", "one", "branch", at=time.monotonic() - 901)
    for wrong, run in (
        (nonce, "plain"),
        (commands.ask(Intent(("0",), "plain", "two", "branch")), "other"),
        (commands.ask(late), "plain"),
        ("", "plain"),
    ):
        with pytest.raises(UsageError, match=again):
            commands.confirm(wrong, run)
    monkeypatch.setattr(module, "MOST_WAITING", 2)
    first, *others = (commands.ask(Intent(("0",), "plain", f"n{i}", "branch")) for i in range(3))
    with pytest.raises(UsageError, match=again):
        commands.confirm(first, "plain")
    assert len({commands.confirm(one, "plain") for one in others}) == 2


def test_four_commands_run_at_a_time_and_none_twice(commands: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [started(commands, "sleep", f"run{i}") for i in range(3)]
    with pytest.raises(UsageError, match=r"^run1: is being played already$"):
        started(commands, "0", "run1")
    started(commands, "sleep", "run3")
    with pytest.raises(UsageError, match=r"^4 commands are running: wait until one has ended$"):
        started(commands, "0", "run4")
    commands.stop(numbers[1])
    assert commands.job(numbers[1]).process.wait(300) != 0
    monkeypatch.setattr(module, "MOST_KEPT", 1)
    last = started(commands, "0", "run1")
    commands.job(last).process.wait(300)
    newest = started(commands, "0", "run9")
    commands.job(newest).process.wait(300)
    left = [key for key, _ in commands.of("plain")]
    assert numbers[1] not in left and {numbers[0], numbers[2], newest} < set(left)
    commands.close(0.0)
    assert all(job.process.returncode is not None and job.output.closed for _, job in commands.of("plain"))


def test_a_run_is_own_where_its_folder_is_and_can_be_written_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert own(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (tmp_path.parent, os.W_OK))
    assert not own(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert not own(tmp_path)


def test_a_stream_sends_news_and_says_that_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PING", 0.002)
    woken: list[int] = []
    watching: Any = SimpleNamespace(watchers=0, wake=lambda: woken.append(watching.watchers))
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
    monkeypatch.setattr(runs, "_told", lambda _, name, part: f"{name} {part}".encode())
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
    first = [runs._told(viewer, "a", part) for part in ("_cells", "_cells", "_pulse")]
    assert first == [message("a", "<_cells>")] * 2 + [message("a", "<_pulse>")] and drawn == [
        "_cells",
        "_pulse",
    ]
    watching.changed["a"] = 2
    runs._told(viewer, "a", "_cells")
    assert drawn == ["_cells", "_pulse", "_cells"]


@pytest.mark.parametrize(
    ("target", "complete", "moved"),
    [("indexing", None, True), ("indexing", True, True), ("indexing", False, False), ("rows", True, False)],
)
def test_a_page_takes_the_place_of_the_note_once_nothing_is_missing(
    target: str, complete: bool | None, moved: bool
) -> None:
    headers = [(b"hx-target", target.encode()), (b"host", b"x")]
    request = Request(
        {"type": "http", "method": "GET", "path": "/a", "query_string": b"", "headers": headers}
    )
    progress = None if complete is None else SimpleNamespace(complete=complete)
    viewer: Any = SimpleNamespace(tabs=[])
    page = Viewer.page(viewer, request, "trouble", code=404, title="Not shown", line="why", progress=progress)
    assert page.status_code == 404 and b"why" in bytes(page.body)
    assert page.headers.get("hx-retarget") == ("#main" if moved else None)
