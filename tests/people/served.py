"""A real server on loopback in a process of its own, and visitors who talk HTTP to it."""

from __future__ import annotations

import html
import http.client
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from tests.cli.in_process import caller

from ostrom.web.tokens import sign

CONSENT, DEBRIEF = "# Consent\n\nDo you agree?", "# Thank you\n\nThe other player was a program."


def small_study(**people: Any) -> dict[str, Any]:
    """One person plays three rounds against tit for tat."""
    return {
        "name": "small",
        "title": "A small game",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 3, "told_rounds": True},
        "agent": {"memory": "full", "framing": {"labels": "JF", "goal": None}},
        "types": {"other": "tit_for_tat", "you": {"person": "web"}},
        "seating": "seats",
        "people": {
            "source": {"name": "link", "places": 50},
            "quota": 40,
            "visit": [{"consent": "consent.md"}, {"match": 1}, {"debrief": "debrief.md"}],
            "pay": {"base": 1.00, "per_point": 0.01},
            "codes": {"done": "C1"},
            "texts": {"consent.md": CONSENT, "debrief.md": DEBRIEF},
            **people,
        },
    }


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Served:
    """A study that is served; it can be killed and started again."""

    def __init__(
        self,
        folder: Path,
        study: dict[str, Any] | str,
        *options: str,
        env: dict[str, str] | None = None,
        prelude: str = "",
    ) -> None:
        """Serve a study of one's own, or a built-in one by its name."""
        self.folder, self.options, self.port, self.admin_port = folder, options, free_port(), free_port()
        self.name, self.prelude = study if isinstance(study, str) else str(study["name"]), prelude
        self.study = study if isinstance(study, str) else "study.yaml"
        self.env = {**os.environ, **(env or {})}
        folder.mkdir(parents=True, exist_ok=True)
        if not isinstance(study, str):
            (folder / "study.yaml").write_text(yaml.safe_dump(study, sort_keys=False))
        self.process: subprocess.Popen[str] | None = None
        self.visitors: list[Visitor] = []
        self.said: list[str] = []
        """What it wrote to the terminal until it listened."""

    @property
    def run(self) -> Path:
        """The folder of the run."""
        return self.folder / "runs" / self.name

    @property
    def base(self) -> str:
        """Where participants find it."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Served:
        """Start, and wait until it listens."""
        begin = f"{self.prelude}\nfrom ostrom.cli import main\nmain()"
        command = [
            sys.executable, "-c", begin, "serve", self.study, "--port", str(self.port),
            "--admin-port", str(self.admin_port), *self.options,
        ]  # fmt: skip
        self.process = subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.env
        )
        assert self.process.stdout is not None
        said = self.said = []
        for line in self.process.stdout:
            said.append(line)
            if line.startswith("participants:"):
                self.first_link = line.split()[1]
            if line.startswith("admin page:"):
                break
        else:
            raise AssertionError("".join(said))
        wait_for(lambda: self._answers())
        return self

    def _answers(self) -> bool:
        try:
            self.visitor().request("GET", "/static/icon.svg")
        except OSError:
            return False
        return True

    def visitor(self, join: bool = False) -> Visitor:
        """Somebody new, who has joined if asked to."""
        made = Visitor(self.port)
        self.visitors.append(made)
        if join:
            made.join(self.link(len(self.visitors)))
        return made

    def link(self, number: int) -> str:
        """One of the secret links."""
        with closing(sqlite3.connect(self.run / "people.db")) as register:
            key = register.execute("SELECT value FROM meta WHERE key='key'").fetchone()[0]
        return f"{self.base}/?link={sign(key, 'link', str(number))}"

    def kill(self) -> None:
        """End it without any warning."""
        assert self.process is not None
        self.process.kill()
        self._gone()

    def stop(self, within: float = 30) -> int:
        """Ask it to end; its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(within)
        self._gone()
        return code

    def ended(self, within: float = 30) -> tuple[int, str]:
        """Wait until it ends by itself; its exit code and what it wrote."""
        assert self.process is not None and self.process.stdout is not None
        code = self.process.wait(within)
        said = self.process.stdout.read()
        self._gone()
        return code, said

    def _gone(self) -> None:
        assert self.process is not None and self.process.stdout is not None
        self.process.wait()
        self.process.stdout.close()

    def ostrom(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Another command, in the same folder; in this process, since starting Python would cost most of the time."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.env.items():
                patch.setenv(name, value)
            done = caller(patch, self.folder)(*words)
        return subprocess.CompletedProcess(["ostrom", *words], done.code, done.out, done.err)


def arrive(server: Served, person: str, session: str = "s") -> Visitor:
    """Somebody who comes by a link of Prolific and joins."""
    visitor = server.visitor()
    visitor.request("GET", f"/?PROLIFIC_PID={person}&STUDY_ID=study&SESSION_ID={session}")
    visitor.request("POST", "/join", visitor.hidden())
    return visitor


def join(server: Served, *names: str) -> list[Visitor]:
    """Everybody joins without having seen the first page."""
    people = [server.visitor() for _ in names]
    for name, person in zip(names, people, strict=True):
        person.request("POST", "/join", {"PROLIFIC_PID": name, "SESSION_ID": "s"})
    return people


def play(visitor: Visitor, moves: str = "JFJ") -> None:
    """One round after another."""
    for move in moves:
        visitor.answer(move)


@contextmanager
def served(
    folder: Path, study: dict[str, Any] | str, *options: str, env: dict[str, str] | None = None, prelude: str = ""
) -> Iterator[Served]:
    """A server that is ended in the end, whatever happened; ``prelude`` is Python that it runs first."""
    made = Served(folder, study, *options, env=env, prelude=prelude)
    try:
        yield made.start()
    finally:
        for visitor in made.visitors:
            visitor.close()
        if made.process is not None and made.process.poll() is None:
            made.kill()


def wait_for(true: Callable[[], bool], seconds: float = 600) -> None:
    """Wait until something is so."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it never came to pass"
        time.sleep(0.02)


class Visitor:
    """A browser without a window: keeps its cookie and its connection, and reads pages by their forms."""

    def __init__(self, port: int) -> None:
        self.port, self.cookie, self.page, self.status = port, "", "", 0
        self.headers: dict[str, str] = {}
        self._connection: http.client.HTTPConnection | None = None

    def request(self, method: str, path: str, fields: dict[str, str] | None = None, **headers: str) -> str:
        """One request; redirects are followed."""
        sent = {"Cookie": self.cookie} if self.cookie else {}
        body = None
        if fields is not None:
            body = urlencode(fields)
            sent |= {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://127.0.0.1:{self.port}"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        for attempt in (1, 2):
            try:
                if self._connection is None:
                    self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
                self._connection.request(method, path, body, sent)
                reply = self._connection.getresponse()
                text = reply.read().decode()
                break
            except (http.client.HTTPException, OSError):
                self.close()
                if attempt == 2:
                    raise
        self.status, self.headers = reply.status, {k.lower(): v for k, v in reply.getheaders()}
        cookies = [value for name, value in reply.getheaders() if name.lower() == "set-cookie"]
        self.cookie = "; ".join(cookie.partition(";")[0] for cookie in cookies) or self.cookie
        if reply.status == 303:
            return self.request("GET", self.headers["location"])
        self.page = text
        return text

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def join(self, link: str) -> str:
        """Follow a link and press the button."""
        self.request("GET", link.partition(str(self.port))[2])
        return self.request("POST", "/join", self.hidden())

    def look(self) -> str:
        """Load the page."""
        return self.request("GET", "/")

    def hidden(self) -> dict[str, str]:
        """The hidden fields of the first form."""
        form = re.search(r"<form.*?</form>", self.page, re.S)
        found = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form[0] if form else "")
        return {html.unescape(name): html.unescape(value) for name, value in found}

    @property
    def at(self) -> str:
        """What the page says where it is."""
        found = re.search(r'<main data-at="([^"]*)"', self.page)
        return found[1] if found else ""

    @property
    def title(self) -> str:
        """The heading of the page."""
        found = re.search(r"<h1[^>]*>(.*?)</h1>", self.page, re.S)
        return html.unescape(found[1]) if found else ""

    def answer(self, answer: str | None = None, **fields: str) -> str:
        """Answer what the page asks."""
        sent = {"place": self.at, **({} if answer is None else {"answer": answer}), **fields}
        self.request("POST", "/answer", sent)
        if self.at == "wait":
            self.settled()
        return self.page

    def settled(self) -> str:
        """Load the page until it is not one that waits."""
        wait_for(lambda: bool(self.look()) and self.at != "wait")
        return self.page
