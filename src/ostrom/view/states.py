"""The status of runs: progress, speed and cost, read from their journals in small steps.

All runs are kept up to date in the background, and their integrity is checked one by one.
"""

import asyncio
import sqlite3
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from ostrom.data.rundata import FRESHNESS, recorded_answer
from ostrom.engine.folder import MANIFEST, Folder
from ostrom.engine.integrity import DAMAGE, connect_read_only, explain
from ostrom.engine.shards import CallCursor, entries_in
from ostrom.ground.errors import OstromError, RunError, UnknownName, UsageError
from ostrom.ground.terminal import one_line
from ostrom.ground.words import how_many
from ostrom.reports.words import question
from ostrom.view.shelf import RunsFolder, read_run

RUNNING, FINISHED, INTERRUPTED, DAMAGED, UNKNOWN = "running", "finished", "interrupted", "damaged", "unknown"
"""The states of a run; ``unknown``: a part is not installed, a file is gone, or the run is of no study."""
LARGE = 64 << 20
"""Bytes of journals above which a run's main result takes minutes."""
PATIENCE = 0.2
"""Seconds that one poll spends counting the calls of a journal; the rest is counted at the next poll."""
WINDOW = 120.0
"""Seconds that the line chart of calls in flight covers."""
POINTS = 48
SHARE = 100
"""Decisions are counted again, and all runs polled again, only after this many times the last duration."""
SAMPLE = 50
"""About how many matches the number of decisions of a study is estimated from."""
ENOUGH = 5
"""The fewest matches that must have ended in the last ``RECENT`` seconds to estimate the time left from them."""
RECENT = 600.0
"""Seconds of recent play from which the time left is estimated."""


@dataclass(frozen=True)
class RunStatus:
    """The status of one run: progress, speed, cost and main result."""

    name: str
    state: str = INTERRUPTED
    line: str | None = None
    """What a command would print about a damaged run."""
    study: str = ""
    title: str = ""
    question: str = ""
    result: str = ""
    """The main result in a few words, as a report or the page of the run left it."""
    models: tuple[str, ...] = ()
    created: str = ""
    noun: str = "matches"
    """What ``planned`` and ``done`` count."""
    stride: int = 1
    """Only units whose number is a multiple of this are counted: in a run with people, the visits."""
    planned: int = 0
    done: int = 0
    failed: int = 0
    skipped: int = 0
    decisions: int = 0
    rate: float | None = None
    """Decisions per second over the last half minute."""
    calls: int = 0
    failed_tries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    unpriced: int = 0
    budget_usd: float | None = None
    budget_calls: int | None = None
    budget_tokens: int | None = None
    most_decisions: float = 0.0
    """The most decisions that the study can have, estimated from a sample of its matches."""
    left: float | None = None
    """Seconds until the run is done, at the pace of the last ten minutes."""
    spark: tuple[float, ...] = ()
    """Calls in flight over the last two minutes of play."""
    report: bool = False
    """Whether a report was written."""
    bytes: int = 0
    counting: bool = True
    """Whether some calls or decisions are not counted yet."""

    @property
    def large(self) -> bool:
        """Whether the run's main result is computed only when somebody opens the run."""
        return self.state == FINISHED and self.bytes > LARGE


class StatusPoller:
    """Polls the status of one run; a run whose files have not changed is not read again."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.alone = threading.Lock()
        """Held during a poll: pages and the background task poll at the same time, and calls are counted once."""
        self.status = RunStatus(folder.path.name)
        self._files: object = None
        self._manifest: object = None
        self._cursors: dict[Path, CallCursor] = {}
        self._counted = (-1e9, 0.0)
        """When decisions were last counted, and how many seconds that took."""
        self._flights: deque[tuple[float, float]] = deque(maxlen=2000)
        self._pace: deque[tuple[float, int, int]] = deque(maxlen=1200)

    def poll(self) -> RunStatus:
        """The current status of the run."""
        playing = self.folder.being_played
        try:
            parts = self.folder.parts
        except RunError as error:
            self._files, self.status = None, self._damaged(str(error))
            return self.status
        files = tuple(_seen(one.path / name) for one in (self.folder, *parts) for name in _FILES)
        if (files, playing) == self._files and not self.status.counting and not playing:
            return self.status
        try:
            if files[0] != self._manifest:
                self.status, self._manifest = self._described(), files[0]
                self._cursors, self._counted = {}, (-1e9, 0.0)
            self.status = self._counted_now([part.journal for part in parts], playing)
            self._files = (files, playing)
        except UsageError as error:
            hint = "; if it is installed, start `ostrom view` again" if isinstance(error, UnknownName) else ""
            self.status = replace(self._damaged(f"{error}{hint}"), state=UNKNOWN)
        except OstromError as error:
            self.status = self._damaged(str(error))
        except DAMAGE as error:
            self.status = self._damaged(explain(self.folder.journal, error))
        return self.status

    def _damaged(self, line: str) -> RunStatus:
        return replace(self.status, state=DAMAGED, line=one_line(line), counting=False)

    def _described(self) -> RunStatus:
        with read_run(self.folder.path) as run:
            study, budget, planned = run.manifest["study"], run.plan.budget, run.plan.planned
            # In a run with people most numbers have no unit, and the number of decisions is not known beforehand.
            last = len(run.plan) if run.plan.counts == "match" else 0
            sample = map(run.plan.unit, range(0, last, max(1, last // SAMPLE)))
            most = [unit.mechanism.most_decisions(unit.game) for unit in sample]
            return RunStatus(
                self.folder.path.name, study=str(study.get("name") or ""), title=str(study.get("title") or ""),
                question=question(study)[0],
                models=run.plan.models, noun=how_many(2, run.plan.counts).partition(" ")[2],
                stride=getattr(run.plan, "stride", 1),
                created=str(run.manifest.get("created") or ""), planned=planned, budget_usd=budget.usd,
                budget_calls=budget.calls, budget_tokens=budget.tokens,
                most_decisions=planned * sum(most) / len(most) if most else 0.0,
            )  # fmt: skip

    def _counted_now(self, journals: list[Path], playing: bool) -> RunStatus:
        before, now = self.status, time.monotonic()
        at, ended, came, entries, decisions, more = self._counted, Counter[str](), 0, 0, 0, False
        totals: dict[str, Any] = {
            name: getattr(before, name) if self._cursors else 0
            for name in ("calls", "failed_tries", "tokens_in", "tokens_out", "usd", "unpriced")
        }
        due = now - at[0] > SHARE * at[1]
        for journal in journals:
            with closing(connect_read_only(journal)) as connection:
                counting = "SELECT state, count(*) FROM units WHERE unit % ? = 0 GROUP BY state"
                ended.update(dict(connection.execute(counting, (before.stride,)).fetchall()))
                if before.stride > 1:  # visits are created during play
                    came += connection.execute(
                        "SELECT count(DISTINCT unit) FROM answers WHERE unit % ? = 0", (before.stride,)
                    ).fetchone()[0]
                entries += entries_in(connection)
                more = self._calls(connection, journal, totals) or more
                decisions += _decisions(connection) if due else 0
        if due:
            self._counted = (now, time.monotonic() - now)
        else:
            decisions, more = before.decisions, more or not playing
        before = replace(before, planned=came) if before.stride > 1 else before
        done, skipped, failed = (ended[state] for state in ("done", "skipped", "failed"))
        complete = done + skipped + ended["withdrawn"] >= before.planned
        self._pace.append((now, done + skipped, decisions))
        return replace(
            before, **totals, line=None, counting=more, decisions=decisions, done=done, skipped=skipped, failed=failed,
            state=RUNNING if playing else FINISHED if complete else INTERRUPTED,
            result=recorded_answer(self.folder.path, entries) if entries else "",
            report=(self.folder.path / REPORT).is_file(),
            rate=self._rate() if playing else None,
            left=self._left(before.planned - done - skipped - failed) if playing else None,
            spark=in_flight(self._flights, time.time() if playing else None),
            bytes=sum(_seen(one)[0] for j in journals for one in (j, j.with_name(j.name + "-wal"))),
        )  # fmt: skip

    def _calls(self, connection: sqlite3.Connection, journal: Path, totals: dict[str, Any]) -> bool:
        """Add the new calls of a journal to the totals; True if some are still to be counted."""
        cursor = self._cursors.setdefault(journal, CallCursor())
        cursor.look(connection)
        first = max(cursor.through, cursor.last - 2000)
        for rows in cursor.sums(connection, time.monotonic() + PATIENCE):
            for name, *values in zip(totals, *(row[1:] for row in rows), strict=True):
                totals[name] += sum(values)
        query = "SELECT at, latency FROM calls WHERE id > ? AND id <= ? AND source='live' ORDER BY id"
        self._flights.extend(connection.execute(query, (first, cursor.through)))
        return cursor.through < cursor.last

    def _rate(self) -> float | None:
        """Decisions per second over half a minute."""
        recent = [one for one in self._pace if one[0] >= self._pace[-1][0] - 30]
        seconds, more = recent[-1][0] - recent[0][0], recent[-1][2] - recent[0][2]
        return more / seconds if seconds > 1 else None

    def _left(self, missing: int) -> float | None:
        """The estimated seconds left, by the pace of recent matches, or if few ended, of recent decisions."""
        now, done, decisions = self._pace[-1]
        first = next(one for one in self._pace if one[0] >= now - RECENT)
        ended, decided = done - first[1], decisions - first[2]
        if ended >= ENOUGH:
            return (now - first[0]) / ended * max(missing, 0)
        more = self.status.most_decisions - decisions
        return (now - first[0]) / decided * more if decided > 0 and more > 0 else None


REPORT = "report/index.html"
_FILES = (MANIFEST, "journal.db", "journal.db-wal", "journal.db.tally", FRESHNESS, REPORT)


def _seen(path: Path) -> tuple[int, int]:
    try:
        there = path.stat()
    except OSError:
        return (0, 0)
    return there.st_size, there.st_mtime_ns


def _decisions(connection: sqlite3.Connection) -> int:
    """The number of answered decisions; a match that was played as arrays has two in every round."""
    answered, rounds = connection.execute(
        "SELECT (SELECT count(*) FROM answers WHERE part=''), (SELECT coalesce(sum(rounds), 0) FROM plays)"
    ).fetchone()
    return int(answered + 2 * rounds)


def in_flight(calls: Iterable[tuple[float, float | None]], now: float | None) -> tuple[float, ...]:
    """How many of these calls (begin, seconds) were in flight, averaged over short spans, up to now or the last end.

    >>> in_flight([(0.0, 60.0), (30.0, 60.0), (30.0, 1.25)], 90.0)[11::12]
    (0.0, 1.0, 2.0, 1.0)
    >>> in_flight([(0.0, 60.0), (30.0, 60.0), (30.0, 1.25)], 90.0)[24]
    2.5
    """
    spans = [(begin, begin + (seconds or 0.0)) for begin, seconds in calls]
    if not spans:
        return ()
    end = now if now is not None else max(last for _, last in spans)
    step, start = WINDOW / POINTS, end - WINDOW
    busy = [0.0] * POINTS
    for first, last in spans:
        low, high = max(first, start), min(last, end)
        for i in (
            range(int((low - start) / step), min(int((high - start) / step), POINTS - 1) + 1) if low < high else ()
        ):
            busy[i] += max(0.0, min(high, start + step * (i + 1)) - max(low, start + step * i))
    return tuple(round(seconds / step, 2) for seconds in busy)


EVERY = 1.0
"""Seconds between two polls of all runs while a page is open or calls are still being counted."""
IDLE = 10.0
"""Seconds between two polls of all runs otherwise."""
SLOWEST = 15.0


@dataclass(frozen=True)
class CheckResult:
    """The result of a run's integrity check."""

    state: str
    """waiting, checking, whole, damaged"""
    line: str | None = None
    entries: int = 0


WAITING = CheckResult("waiting")


class Watching:
    """Keeps the status of all runs up to date and checks their integrity."""

    def __init__(self, shelf: RunsFolder) -> None:
        self.shelf = shelf
        self.version = 0
        self.statuses: dict[str, RunStatus] = {}
        self.changed: dict[str, int] = {}
        """The version in which the status of a run changed last."""
        self.drawn: dict[tuple[str, str], tuple[int | None, bytes]] = {}
        """The content last sent to open pages, by run and part of the page, with the status version."""
        self.checks: dict[str, CheckResult] = {}
        self.watchers = 0
        self._gauges: dict[str, StatusPoller] = {}
        self._wake = asyncio.Event()

    def status(self, name: str) -> RunStatus:
        """The last known status of a run; a run that failed its integrity check is damaged."""
        status, check = self.statuses.get(name) or RunStatus(name), self.check(name)
        return status if check.line is None else replace(status, state=DAMAGED, line=check.line)

    def check(self, name: str) -> CheckResult:
        """The result of a run's integrity check."""
        return self.checks.get(name, WAITING)

    def refresh(self) -> None:
        """Start the next poll at once instead of waiting for the pause to end."""
        self._wake.set()

    async def look_on(self) -> None:
        """Poll all runs for ever, with pauses long enough that polling takes a small share of the time."""
        while True:
            began = time.monotonic()
            await asyncio.to_thread(self.poll)
            took = time.monotonic() - began
            counting = any(status.counting for status in self.statuses.values())
            pause = EVERY if self.watchers or counting else IDLE
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(max(pause, 0 if counting else SHARE * took), SLOWEST)):
                    await self._wake.wait()

    def poll(self, names: Iterable[str] | None = None) -> None:
        """Update the status of these runs once; of all runs by default."""
        there = list(self.shelf.names() if names is None else names)
        for name in there:
            with suppress(UsageError):  # raised if it was removed just now
                gauge = self._gauges.get(name) or self._gauges.setdefault(name, StatusPoller(self.shelf.folder(name)))
                with gauge.alone:
                    self._take(name, gauge.poll())
        if names is None:
            for gone in set(self._gauges) - set(there):
                self._gauges.pop(gone), self.statuses.pop(gone, None), self.checks.pop(gone, None)
                self.changed.pop(gone, None)
                self.version += 1

    def _take(self, name: str, status: RunStatus) -> None:
        if status != self.statuses.get(name):
            self.version += 1
            self.statuses[name], self.changed[name] = status, self.version

    async def check_runs(self) -> None:
        """Check the integrity of one run after the other, small ones first, and again of those that have grown.

        A run in play is checked when it stops: it was checked when it began, and reading all of it would slow it down.
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
            sys.executable, "-m", "ostrom.view.check", str(folder.path), stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            output, _ = await child.communicate()
        except asyncio.CancelledError:
            child.kill()
            await child.wait()
            raise
        with suppress(orjson.JSONDecodeError):
            result = {"line": None, "entries": 0, **orjson.loads(output)}
            return CheckResult("whole" if result["line"] is None else "damaged", **result)
        return WAITING


def _size(status: RunStatus) -> object:
    return status.bytes, status.done, status.calls, status.decisions
