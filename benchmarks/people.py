"""People: how fast the next question comes with many of them at once, how much memory that takes, and a restart.

Simulated browsers over real HTTP connections to a real server process, each thinking for a while before it answers.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from benchmarks.result import Result

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.people.served import Served, small_study

LOOK = 0.05
"""Seconds between looks at a page that waits: a browser is told by its stream of news."""
AT = re.compile(rb'<main data-at="([^"]*)"')


class Browser:
    """One connection with its cookie, on asyncio: threads would measure themselves."""

    def __init__(self, port: int) -> None:
        self.port, self.cookie, self.at = port, "", ""
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(self, method: str, path: str, fields: dict[str, str] | None = None, part: bool = True) -> int:
        """One request; its status. The page's place is kept."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        body = b"" if fields is None else urlencode(fields).encode()
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}"]
        lines += [f"Origin: http://127.0.0.1:{self.port}", f"Content-Length: {len(body)}"] if body else []
        lines += ["Content-Type: application/x-www-form-urlencoded"] if body else []
        lines += [f"Cookie: {self.cookie}"] if self.cookie else []
        lines += ["X-Part: main"] if part else []
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        page = await reader.readexactly(int(length[1])) if length else b""
        if (cookie := re.search(rb"set-cookie: ([^;]+)", head)) is not None:
            self.cookie = cookie[1].decode()
        if (found := AT.search(page)) is not None:
            self.at = found[1].decode()
        return int(head.split(b" ", 2)[1])

    def close(self) -> None:
        """Let go of the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def crowd(server: Served, people: int, think: float, first: int, waits: list[float]) -> list[Browser]:
    """So many people play all rounds, each thinking so long; how long the next question took is kept."""
    browsers = [Browser(server.port) for _ in range(people)]
    errors = 0

    async def person(number: int, browser: Browser) -> None:
        nonlocal errors
        await asyncio.sleep(think * number / people)
        await browser.request("POST", "/join", {"PROLIFIC_PID": f"p{first + number}", "SESSION_ID": "s"})
        while browser.at in ("", "wait"):
            await asyncio.sleep(LOOK)
            await browser.request("GET", "/")
        for answer in ("agree", *("JF"[(number + r) % 2] for r in range(5))):
            await asyncio.sleep(think)
            place, begun = browser.at, time.perf_counter()
            status = await browser.request("POST", "/answer", {"place": place, "answer": answer})
            while browser.at in (place, "wait") and status == 200:
                await asyncio.sleep(LOOK)
                status = await browser.request("GET", "/")
            waits.append(time.perf_counter() - begun)
            errors += status != 200

    await asyncio.gather(*(person(number, browser) for number, browser in enumerate(browsers)))
    assert not errors, f"{errors} requests failed"
    return browsers


def measure() -> list[Result]:
    """200 people thinking 3 s, 1,000 thinking 8 s, and a restart with all of them in the middle of a match."""
    found: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        study = small_study(quota=100_000, source={"name": "prolific"})
        study["mechanism"]["rounds"] = 10
        server = Served(Path(folder), study, "--joins-a-minute", "100000")
        server.start()
        try:
            for people, think, most in ((200, 3.0, 60), (1000, 8.0, 150)):
                waits: list[float] = []
                browsers = asyncio.run(crowd(server, people, think, 10_000 * people, waits))
                late = sorted(waits)[int(0.95 * len(waits))] * 1000
                name = f"next question, p95, {people} people thinking {think:g} s"
                found.append(Result("people", name, late, "ms", aim=f"< {most} ms", met=late < most))
            memory = _memory(server)
            found.append(Result("people", "memory with 1,000 people", memory, "MB", aim="< 250 MB", met=memory < 250))
            found.append(_restart(server, browsers))
        finally:
            server.kill()
    return found


def _restart(server: Served, browsers: list[Any]) -> Result:
    server.kill()
    begun = time.perf_counter()
    server.start()

    async def back() -> int:
        gate, right = asyncio.Semaphore(100), 0

        async def look(browser: Browser) -> None:
            nonlocal right
            place = browser.at
            browser._streams = None
            async with gate:
                await browser.request("GET", "/")
                right += browser.at == place
                browser.close()

        await asyncio.gather(*(look(browser) for browser in browsers))
        return right

    right = asyncio.run(back())
    seconds = time.perf_counter() - begun
    name = f"restart: {right} of {len(browsers)} open visits back at their question"
    return Result("people", name, seconds, "s", aim="< 5 s", met=seconds < 5 and right == len(browsers))


def _memory(server: Served) -> float:
    assert server.process is not None
    told = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(server.process.pid)], capture_output=True, text=True, check=True
    )
    return int(told.stdout) / 1024
