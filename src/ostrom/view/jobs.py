"""Commands that were started from a page: they run as they would in a terminal, as processes of their own."""

import os
import secrets
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from ostrom.ground.errors import UsageError
from ostrom.ground.terminal import visible

MOST_RUNNING = 4
MOST_KEPT = 50
MOST_WAITING = 200
CONFIRM_WITHIN = 900.0
"""Seconds in which what was asked for must be confirmed."""
TAIL = 20_000
"""Characters of what a command said that are shown."""


@dataclass(frozen=True)
class Intent:
    """A command that somebody asked for and has not confirmed yet."""

    arguments: tuple[str, ...]
    """What follows `ostrom`."""
    run: str
    """The run that it reads."""
    makes: str
    """The name of the run that it makes."""
    kind: str
    at: float = field(default_factory=time.monotonic)

    @property
    def command(self) -> str:
        """The command as it is typed."""
        return shlex.join(["ostrom", *self.arguments])


@dataclass
class Job:
    """A command that was started."""

    intent: Intent
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    began: float = field(default_factory=time.time)
    ended: float | None = None

    @property
    def state(self) -> str:
        """running, done, or failed (with its exit code)."""
        code = self.process.poll()
        if code is None:
            return "running"
        self.ended = self.ended or time.time()
        return "done" if code == 0 else f"ended with code {code}"

    @property
    def said(self) -> str:
        """The end of what it said."""
        self.output.seek(0, 2)
        self.output.seek(max(0, self.output.tell() - TAIL))
        return visible(self.output.read().decode("utf-8", "replace"))


class Jobs:
    """What was asked for, and what runs."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: OrderedDict[str, Intent] = OrderedDict()
        self._jobs: OrderedDict[str, Job] = OrderedDict()

    def ask(self, intent: Intent) -> str:
        """Keep a command until it is confirmed; the nonce that confirms it, once."""
        nonce = secrets.token_urlsafe(24)
        with self._guard:
            self._waiting[nonce] = intent
            while len(self._waiting) > MOST_WAITING:
                self._waiting.popitem(last=False)
        return nonce

    def confirm(self, nonce: str, run: str) -> str:
        """Start what was asked for; the number of the job."""
        with self._guard:
            intent = self._waiting.pop(nonce, None)
            if intent is None or intent.run != run or time.monotonic() - intent.at > CONFIRM_WITHIN:
                raise UsageError("this was confirmed before, or too late: ask for it again")
            running = [job for job in self._jobs.values() if job.state == "running"]
            if any(job.intent.makes == intent.makes for job in running):
                raise UsageError(f"{intent.makes}: is being played already")
            if len(running) >= MOST_RUNNING:
                raise UsageError(f"{MOST_RUNNING} commands are running: wait until one has ended")
            number = secrets.token_hex(8)
            output: Any = tempfile.TemporaryFile()  # noqa: SIM115
            process = subprocess.Popen(
                [sys.executable, "-m", "ostrom", *intent.arguments],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            # Wait for it: it would stay as a defunct process until somebody looks at its page.
            threading.Thread(target=process.wait, daemon=True).start()
            self._jobs[number] = Job(intent, process, output)
            for old in [key for key, job in self._jobs.items() if job.state != "running"][:-MOST_KEPT]:
                self._jobs.pop(old).output.close()
            return number

    def job(self, number: str) -> Job:
        """A job by its number."""
        with self._guard:
            if number not in self._jobs:
                raise UsageError("there is no such job (the server was started anew, or it is long over)")
            return self._jobs[number]

    def of(self, run: str) -> list[tuple[str, Job]]:
        """The jobs that were started from a run, newest first."""
        with self._guard:
            return [(key, job) for key, job in reversed(self._jobs.items()) if job.intent.run == run]

    def stop(self, number: str) -> None:
        """Stop a job as Ctrl-C would; the same command goes on later."""
        job = self.job(number)
        if job.process.poll() is None:
            job.process.send_signal(signal.SIGINT)

    def close(self, patience: float = 10.0) -> None:
        """Stop all that runs, cleanly."""
        until = time.monotonic() + patience
        for number in list(self._jobs):
            self.stop(number)
        for job in self._jobs.values():
            try:
                job.process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                job.process.kill()
                job.process.wait()
            job.output.close()


def own(folder: Path) -> bool:
    """Whether a run belongs to who runs the server: only from those are commands started."""
    return folder.stat().st_uid == os.geteuid() and os.access(folder.parent, os.W_OK)
