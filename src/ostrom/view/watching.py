"""All runs at once: how they stand, kept up to date in the background, and their integrity checks one by one."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import orjson

from ostrom.ground.errors import UsageError
from ostrom.view.shelf import Shelf
from ostrom.view.states import DAMAGED, RUNNING, SHARE, RunGauge, RunStatus

EVERY = 1.0
"""Seconds between looks while somebody watches."""
IDLE = 10.0
"""Seconds between looks while nobody does."""
SLOWEST = 15.0


@dataclass(frozen=True)
class CheckResult:
    """What became of the integrity check of a run."""

    state: str
    """waiting, checking, whole, damaged"""
    line: str | None = None
    entries: int = 0


WAITING = CheckResult("waiting")


class Watching:
    """How all runs stand."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.version = 0
        self.statuses: dict[str, RunStatus] = {}
        self.changed: dict[str, int] = {}
        """The version in which the status of a run changed last."""
        self.drawn: dict[tuple[str, str], tuple[int | None, bytes]] = {}
        """What open pages were told last about a run, by the part of a page, with the version of its status."""
        self.checks: dict[str, CheckResult] = {}
        self.watchers = 0
        self._gauges: dict[str, RunGauge] = {}
        self._wake = asyncio.Event()

    def status(self, name: str) -> RunStatus:
        """How a run stands, as it was last seen; a run that failed its check is damaged."""
        found = self.statuses.get(name) or RunStatus(name)
        check = self.check(name)
        return found if check.line is None else replace(found, state=DAMAGED, line=check.line)

    def check(self, name: str) -> CheckResult:
        """What became of the integrity check of a run."""
        return self.checks.get(name, WAITING)

    def wake(self) -> None:
        """Look now."""
        self._wake.set()

    async def look_on(self) -> None:
        """Look at all runs, again and again; looking takes a small share of the time."""
        while True:
            began = time.monotonic()
            await asyncio.to_thread(self.look)
            took = time.monotonic() - began
            counting = any(status.counting for status in self.statuses.values())
            pause = EVERY if self.watchers or counting else IDLE
            self._wake.clear()
            try:
                async with asyncio.timeout(min(max(pause, 0 if counting else SHARE * took), SLOWEST)):
                    await self._wake.wait()
            except TimeoutError:
                pass

    def look(self, names: Iterable[str] | None = None) -> None:
        """Look at all runs once, or at some."""
        there = list(self.shelf.names() if names is None else names)
        for name in there:
            try:
                gauge = self._gauges.get(name) or RunGauge(self.shelf.folder(name))
                self._gauges[name] = gauge
                self._take(name, gauge.look())
            except UsageError:  # it was removed just now
                continue
        if names is None:
            for gone in set(self._gauges) - set(there):
                self._gauges.pop(gone), self.statuses.pop(gone, None), self.checks.pop(gone, None)
                self.changed.pop(gone, None)
                self.version += 1

    def _take(self, name: str, status: RunStatus) -> None:
        if status != self.statuses.get(name):
            self.version += 1
            self.statuses[name], self.changed[name] = status, self.version

    async def check_on(self) -> None:
        """Check one run after the other, small ones first, and again those that have grown.

        A run that is being played is checked when it stops: its player checked it when it began, and reading all of it
        beside the player would cost calls.
        """
        seen: dict[str, object] = {}
        while True:
            due = [
                (status.bytes, name)
                for name, status in list(self.statuses.items())
                if status.state != RUNNING and seen.get(name) != _size(status)
            ]
            if not due:
                await asyncio.sleep(EVERY)
                continue
            name = min(due)[1]
            seen[name] = _size(self.statuses[name])
            self._note(name, CheckResult("checking"))
            self._note(name, await self._checked(name))

    def _note(self, name: str, result: CheckResult) -> None:
        self.version += 1
        self.checks[name], self.changed[name] = result, self.version

    async def _checked(self, name: str) -> CheckResult:
        try:
            folder = self.shelf.folder(name)
        except UsageError:
            return WAITING
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "ostrom.view.checking", str(folder.path), stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            told, _ = await child.communicate()
        except asyncio.CancelledError:
            child.kill()
            await child.wait()
            raise
        try:
            found = orjson.loads(told)
        except orjson.JSONDecodeError:
            return CheckResult("waiting")
        if "line" in found:
            return CheckResult("damaged", line=str(found["line"]))
        return CheckResult("whole", entries=int(found["entries"]))


def _size(status: RunStatus) -> object:
    return status.bytes, status.done, status.calls, status.decisions
