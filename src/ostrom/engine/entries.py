"""The entries of a journal: their records, the SQL statements that write them, and the writer thread.

Entries that arrive while a transaction is written form the next transaction, so all waiting matches share the cost
of durability.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import SystemRandom
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from ostrom.answers import Answer
from ostrom.engine.integrity import SEALS, explain, remove_limits, with_checksum
from ostrom.ground.errors import RunError
from ostrom.ground.values import Derived, value
from ostrom.models.base import Reply, Usage

ANSWER = "INSERT INTO answers VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
QUESTION = "INSERT INTO questions VALUES (?,?,?)"
CALL = "INSERT INTO calls VALUES (NULL" + ",?" * 27 + ")"
PROMPTS = "INSERT INTO prompts VALUES (?,?,?)"
BATCH = "INSERT INTO batches VALUES (NULL,?,?,?,?,?,?)"
PLAY = "INSERT INTO plays VALUES (?,?,?,?)"
UNIT = (
    "INSERT INTO units VALUES (?,?,?,?,?,?,1,?) ON CONFLICT (unit) DO UPDATE SET state=excluded.state, "
    "reason=excluded.reason, steps=excluded.steps, scores=excluded.scores, facts=excluded.facts, "
    "times=times+1, seal=excluded.seal"
)
_NO_USAGE = Usage()
ROWS = "INSERT INTO unit_rows VALUES (?,?,?,?,?)"
TOGETHER = 256
"""The most prompts in one package; reading one of them decompresses the package."""
MOST_TOGETHER, MOST_PACKAGE, MOST_VALUES = 8 << 20, 64 << 20, 4 << 20
"""The most bytes of prompts written into one package (a longer prompt gets its own), the most bytes of a package that
is read, and the most JSON values in it."""
MOST_QUEUED = 1024
"""The most queued entries before the writer is woken: scripts play long matches in one turn of the event loop."""
PACE = 0.008
"""The least seconds between the beginnings of two transactions, unless one match waits alone: a transaction of a few
entries takes nearly as long as one of many."""
UNREADABLE = (zlib.error, ValueError, LookupError, TypeError)
"""Exceptions of a malformed prompt."""

Row = tuple[Any, ...]
Place = tuple[int, int, str]
"""The place of an answer: step, player, part."""
Journaled = tuple[Answer, int, str | None]
"""An answer, the number of unreadable replies before it, and the question as JSON if it is journaled."""


class JournaledCall(NamedTuple):
    """One try at a call, as read from the journal."""

    place: Place
    model: str
    key: bytes
    messages: list[list[str]]
    params: Mapping[str, Any]
    reply: Reply | None


@value
class CallRecord:
    """One try at a call, as written to the journal."""

    unit: int
    step: int
    player: int
    part: str
    model: str
    key: bytes
    prompt: bytes
    """JSON list of [role, content] pairs."""
    params: Mapping[str, Any]
    try_: int
    source: str
    at: float
    latency: float
    reply: Reply | None = None
    usd: float | None = None
    error: str | None = None
    status: int | None = None


def answer_columns(answer: Answer) -> Row:
    """Return the columns of an answer, without its place."""
    return (
        dump(answer.value),
        answer.reading,
        None if answer.probabilities is None else dump(answer.probabilities),
        answer.note,
        None if answer.facts is None else dump(answer.facts),
    )


def call_rows(records: Sequence[CallRecord], first: int, chains: PromptChains) -> Iterator[tuple[str, list[Row]]]:
    """Yield the SQL statements, each with its checksummed rows, that write tries at calls together.

    Prompts of one run are much alike: packed together they take a fraction of the space and time of separate ones.
    ``first`` is the number of the first package. A prompt that extends an earlier one is stored as a reference and
    its new messages (``chains``).
    """
    for number, some in enumerate(_together(records), first):
        yield (
            PROMPTS,
            [
                with_checksum(
                    (
                        number,
                        packed(
                            [
                                chains.written(record.unit, record.player, record.prompt, number, nth)
                                for nth, record in enumerate(some)
                            ]
                        ),
                    )
                )
            ],
        )
        yield CALL, [with_checksum(_call_row(record, number, nth)) for nth, record in enumerate(some)]


def _together(records: Sequence[CallRecord]) -> Iterator[list[CallRecord]]:
    """Yield groups of records whose prompts fit into one package."""
    some: list[CallRecord] = []
    size = 0
    for record in records:
        if some and (len(some) == TOGETHER or size + len(record.prompt) > MOST_TOGETHER):
            yield some
            some, size = [], 0
        some.append(record)
        size += len(record.prompt)
    if some:
        yield some


def _call_row(record: CallRecord, package: int, nth: int) -> Row:
    reply = record.reply
    usage = reply.usage if reply else _NO_USAGE
    params = {**record.params, "kept_in_cache": usage.kept} if usage.kept else record.params
    return (
        record.unit,
        record.step,
        record.player,
        record.part,
        record.try_,
        float(record.at),
        record.model,
        record.key,
        package,
        nth,
        _params_text(params),
        reply.text if reply else None,
        reply.reasoning if reply else None,
        reply.reasoning_kind if reply else None,
        reply.finish if reply else None,
        usage.input,
        usage.output,
        usage.cached,
        usage.reasoning,
        None if record.usd is None else float(record.usd),
        dump(reply.logprobs) if reply and reply.logprobs is not None else None,
        reply.model if reply else None,
        float(record.latency),
        record.source,
        record.error,
        record.status,
    )


def packed(prompts: Sequence[bytes]) -> bytes:
    """Return prompts, each a JSON text, as one compressed package.

    >>> unpacked(packed([b'[["user","hi"]]', b'[["user","ho"]]']))[1]
    [['user', 'ho']]
    """
    return zlib.compress(b"[" + b",".join(prompts) + b"]", 1)


def unpacked(package: bytes) -> list[Any]:
    """Return the stored prompts of a package: [role, content] pairs, or references (see ``PromptChains``)."""
    return _prompts(inflated(package, MOST_PACKAGE, "its package is cut off or has"))


def inflated(content: bytes, most: int, wrong: str) -> bytes:
    """Decompress up to a size limit: a few bytes can expand to gigabytes. ``wrong`` begins the error."""
    reader = zlib.decompressobj()
    raw = reader.decompress(content, most)
    if not reader.eof:
        raise ValueError(f"{wrong} more than {most:,} bytes")
    return raw


def _prompts(raw: bytes) -> list[Any]:
    """Parse the prompts of a package; the number of values is limited, because parsed lists need much memory."""
    if len(raw) > MOST_VALUES and sum(raw.count(mark) for mark in (b"[", b"{", b",")) > MOST_VALUES:
        raise ValueError(f"its package has more than {MOST_VALUES:,} values")
    prompts = orjson.loads(raw)
    if not isinstance(prompts, list):
        raise ValueError("its package is no list")
    return prompts


class Packages:
    """A cache of prompt packages by number, limited in total size."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read, self._size = read, 0
        self._read_packages: dict[int, list[Any]] = {}

    def __call__(self, package: int) -> list[Any]:
        """Return the stored prompts of a package."""
        if package not in self._read_packages:
            raw = inflated(self._read(package), MOST_PACKAGE, "its package is cut off or has")
            if self._size + len(raw) > MOST_PACKAGE:
                self._read_packages, self._size = {}, 0
            self._read_packages[package] = _prompts(raw)
            self._size += len(raw)
        return self._read_packages[package]


def dump(value: Any) -> str:
    """Return plain data as canonical JSON text."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY).decode()


def load(text: str | None) -> Any:
    """Return plain data from JSON text; None stays None."""
    if text is None:
        return None
    if text[:1] == '"' and "\\" not in text:
        return text[1:-1]  # most answers are plain words
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise RunError(f"the journal is damaged: {text[:40]!r} is no JSON ({error})") from None


_params_text = Derived(dump)
MOST_STEPS = 64
"""The most references followed to read a prompt: longer chains are not written by this package."""
_ASSISTANT = b'["assistant",'


class PromptChains:
    """Stores a prompt that extends an earlier one in two parts: a reference to that one, and the new messages.

    A dialogue is sent as a whole with every call, so written down as a whole it would grow with the square of its
    turns. A prompt that begins with an earlier one of the same player is written as ``{"from": [package, nth],
    "keep": n, "then": [...]}``: the first n messages of that one, then these. Which earlier one is chosen as in skip
    lists, so that a prompt of a chat of n turns is read in about log n steps. This object holds the newest dialogue of
    every player in play, and the places of its stored prompts.
    """

    def __init__(self) -> None:
        self._chains: dict[tuple[int, int], tuple[list[Any], list[tuple[int, int, int]]]] = {}

    def written(self, unit: int, player: int, prompt: bytes, package: int, nth: int) -> bytes:
        """Return the stored form of a prompt (a JSON list of messages) at a place of a package."""
        if _ASSISTANT not in prompt:
            return prompt
        messages = orjson.loads(prompt)
        newest, places = self._chains.get((unit, player), ([], []))
        same = _alike(newest, messages)
        places = [place for place in places if place[2] <= same]
        content = prompt
        if places:
            # As in skip lists: the reference goes to the chain number with the lowest bit cleared.
            *place, keep = places[len(places) & (len(places) - 1)]
            content = orjson.dumps({"from": place, "keep": keep, "then": messages[keep:]})
        self._chains[unit, player] = (messages, [*places, (package, nth, len(messages))])
        return content

    def forget(self, unit: int) -> None:
        """Drop the cached prompts of an ended unit."""
        self._chains = {key: chain for key, chain in self._chains.items() if key[0] != unit}


def _alike(one: list[Any], other: list[Any]) -> int:
    """Return the number of leading messages that two prompts share."""
    differing = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


def resolve_prompt(package: int, nth: int, read: Callable[[int], list[Any]]) -> list[list[str]]:
    """Return the messages of a prompt; ``read`` returns the stored prompts of a package.

    >>> packages = {1: [[["user", "a"], ["assistant", "b"]]], 2: [{"from": [1, 0], "keep": 2, "then": [["user", "c"]]}]}
    >>> resolve_prompt(2, 0, packages.__getitem__)
    [['user', 'a'], ['assistant', 'b'], ['user', 'c']]
    """
    after: list[list[str]] = []
    keep: int | None = None
    for _ in range(MOST_STEPS):
        entry = read(package)[nth]
        if isinstance(entry, list):
            messages = [*entry[:keep], *after]
            if not all(list(map(type, message)) == [str, str] for message in messages):
                raise ValueError("is no list of messages")
            return messages
        tail = entry["then"] if keep is None else entry["then"][: max(0, keep - entry["keep"])]
        after = [*tail, *after]
        if sum(8 + len(text) for _, text in after) > MOST_PACKAGE:
            raise ValueError(f"has more than {MOST_PACKAGE:,} characters")
        keep = entry["keep"] if keep is None else min(keep, entry["keep"])
        package, nth = entry["from"]
    raise ValueError("a prompt goes on from too many others")


class Writer:
    """Takes entries from its event loop and writes them in a separate thread."""

    def __init__(
        self, path: Path, tally: Path, entries: int, connect: Callable[[], sqlite3.Connection], calls_before: int = 0
    ) -> None:
        number = f"(SELECT max(coalesce(max(id), 0), {calls_before}) + 1 FROM calls)"
        self._call = CALL.replace("NULL", number) if calls_before else CALL
        self._path, self._tally_path, self._connect = path, tally, connect
        self.entries = entries
        """The number of entries on disk."""
        # Both are filled by the loop and emptied by the thread; a deque needs no lock for that.
        self._pending: deque[tuple[str, Any]] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._wake = threading.Event()
        self._wakes = False
        """Whether the thread is woken, or soon will be, and will take what is queued."""
        self._stop, self._packages = False, 0
        self._failed: RunError | None = None
        self._begun, self._served = -PACE, 0
        """When the last transaction began, and how many flushes it ended."""
        self._chains = PromptChains()
        self._file, self._loop = path.stat(), asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._write_forever, name="journal", daemon=True)
        self._thread.start()

    def put(self, statement: str, row: Any) -> None:
        """Queue an entry; it is on the disk after the next ``flush``."""
        if self._failed is not None:
            raise self._failed
        self._pending.append((statement, row))
        self._wake_soon()
        if len(self._pending) >= MOST_QUEUED and not self._wake.is_set():
            self._wake.set()

    def _wake_soon(self) -> None:
        """Wake the thread in the turn after the next, so that all entries until then form one transaction."""
        if not self._wakes:
            self._wakes = True
            self._loop.call_soon(self._loop.call_soon, self._wake.set)

    @property
    def backlog(self) -> int:
        """Return the number of entries that wait to be written."""
        return len(self._pending)

    async def flush(self) -> None:
        """Wait until everything queued so far is on the disk."""
        if self._failed is not None:
            raise self._failed
        done = self._loop.create_future()
        self._waiting.append(done)
        self._wake_soon()
        if self._failed is not None:  # the thread has ended meanwhile and will not answer
            done.cancel()
            raise self._failed
        await done

    def close(self) -> None:
        """Write what is queued and stop."""
        self._stop = True
        self._wake.set()
        self._thread.join()

    def _write_forever(self) -> None:
        try:
            connection = self._connect()
            remove_limits(connection)  # the journal was checked when it was opened
            tally = os.open(self._tally_path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o644)
            os.pwrite(tally, b"%020d\n" % self.entries, 0)
            os.fsync(tally)
            # Mark the database unclosed, so that a copy without its WAL and tally is refused. The tally file exists
            # before the mark is set.
            self._mark(connection, closed=False)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._packages = connection.execute("SELECT coalesce(max(id), 0) FROM prompts").fetchone()[0]
        except (sqlite3.Error, OSError) as error:
            self._fail(RunError(explain(self._path, error)), [])
            return
        try:
            while self._write_some(connection, tally):
                pass
        finally:
            os.close(tally)
            connection.close()

    def _write_some(self, connection: sqlite3.Connection, tally: int) -> bool:
        """Write the queued entries and notify waiters; return False at the end."""
        self._wake.wait()
        # A match that plays alone is not kept waiting.
        if max(self._served, len(self._waiting)) != 1 and len(self._pending) < MOST_QUEUED and not self._stop:
            time.sleep(max(0.0, self._begun + PACE - time.monotonic()))
        self._wake.clear()
        self._wakes = False  # before the entries are taken: what is queued from here on wakes the thread again
        # Take the waiters first: whatever they wait for was queued before, so it is among the entries taken next.
        waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
        entries = [self._pending.popleft() for _ in range(len(self._pending))]
        self._begun, self._served = time.monotonic(), len(waiting)
        try:
            if entries:
                self._commit(connection, entries)
                os.pwrite(tally, b"%020d\n" % self.entries, 0)
                self.check_place()
        except Exception as error:  # any error must reach the waiters
            self._fail(error if isinstance(error, RunError) else RunError(explain(self._path, error)), waiting)
            return False
        if waiting:
            self._loop.call_soon_threadsafe(_release, waiting, None)
        if self._stop and not self._pending:
            with suppress(sqlite3.Error):  # a failure has one effect: the journal stays marked as not closed
                self._mark(connection, closed=True)
            return False
        return True

    def _commit(self, connection: sqlite3.Connection, entries: list[tuple[str, Any]]) -> None:
        groups: dict[str, list[Any]] = {}
        ended = [entry for statement, entry in entries if statement is UNIT]
        for statement, entry in entries:
            if statement is not CALL:
                groups.setdefault(statement, []).append(with_checksum(entry[0] if statement is UNIT else entry))
        packages = self._packages
        for statement, rows in call_rows(
            [entry for statement, entry in entries if statement is CALL], packages + 1, self._chains
        ):
            groups.setdefault(statement, []).extend(rows)
            packages += statement is not CALL
        total = self.entries + sum(len(rows) for rows in groups.values())
        with connection:
            for statement, rows in groups.items():
                connection.executemany(self._call if statement is CALL else statement, rows)
            keep_rows(connection, [(row[0], *columns) for row, *columns in ended])
            connection.execute("UPDATE meta SET value=? WHERE key='entries'", (total,))
        self.entries, self._packages = total, packages
        for (unit, *_), *_ in ended:
            self._chains.forget(unit)

    @property
    def failed(self) -> bool:
        """Whether nothing more can be written."""
        return self._failed is not None

    def check_place(self) -> None:
        """Refuse to continue if the journal file is no longer at its path: new entries would be lost."""
        try:
            status = self._path.stat()
        except OSError:
            status = None
        if status is None or not os.path.samestat(status, self._file):
            raise RunError(f"{self._path}: is gone: the run folder was removed or replaced while it was played")

    def _mark(self, connection: sqlite3.Connection, *, closed: bool) -> None:
        with connection:
            connection.execute("UPDATE meta SET value=? WHERE key='closed'", (int(closed),))

    def _fail(self, error: RunError, waiting: list[asyncio.Future[None]]) -> None:
        self._failed = error
        self._loop.call_soon_threadsafe(self._tell, waiting, error)

    def _tell(self, waiting: list[asyncio.Future[None]], error: RunError) -> None:
        """Notify waiters; runs in the loop, so that none is added meanwhile."""
        _release([*waiting, *self._waiting], error)
        self._waiting.clear()


def keep_rows(connection: sqlite3.Connection, units: Sequence[tuple[int, bytes | None, str | None]]) -> None:
    """Replace the stored rows of units (unit, rows, declined calls), with checksums."""
    connection.executemany("DELETE FROM unit_rows WHERE unit=?", [(unit,) for unit, *_ in units])
    for unit, content, refused in units:
        if content is not None:
            (of,) = connection.execute(f"SELECT {SEALS.format(unit='?1')}", (unit,)).fetchone()
            connection.execute(ROWS, with_checksum((unit, content, refused, of)))


def _release(waiting: list[asyncio.Future[None]], error: RunError | None) -> None:
    for future in (future for future in waiting if not future.done()):
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


CALL_NAMES = (
    "match", "id", "step", "player", "part", "try", "at", "model", "params", "reply", "reasoning", "reasoning_kind",
    "finish", "tokens_in", "tokens_out", "tokens_cached", "tokens_reasoning", "usd", "logprobs", "version", "latency",
    "source", "error", "status",
)  # fmt: skip


class UnitRecord(NamedTuple):
    """The end of a unit, and its stored rows."""

    unit: int
    state: str
    reason: str | None = None
    scores: list[float] | None = None
    facts: str | None = None
    """Facts of the unit, as a JSON object."""
    rows: bytes | None = None
    refused: Mapping[str, int] = MappingProxyType({})
    """The number of declined calls, by player."""
    play: tuple[int, bytes] | None = None
    """The number of rounds and the packed moves of a match played as arrays."""


def reply_of(row: tuple[Any, ...]) -> Reply:
    """Return the reply in a row of the calls table."""
    return Reply(
        row[11],
        row[12],
        row[13],
        row[14],
        Usage(*row[15:19]),
        load(row[20]),
        row[21],
        facts={} if row[24] is None else {"refusal": row[24].partition(": ")[2]},
    )


def shaped(text: str | None, kind: type) -> Any:
    """Parse JSON text that must be of one type; None stays None."""
    value = load(text)
    if value is not None and not isinstance(value, kind):
        raise RunError(f"the journal is damaged: {text!r:.60} is no {kind.__name__}")
    return value


_RANDOM = SystemRandom()
"""A secure random source: whoever alters rows cannot predict which matches are checked."""


def draw_units(query: Callable[..., Iterator[Row]], count: int) -> list[int]:
    """Return up to ``count`` random units that have stored rows."""
    low, high = next(query("SELECT coalesce(min(unit), 0), coalesce(max(unit), -1) FROM unit_rows"))
    if high - low < 16 * count:
        units = [unit for (unit,) in query("SELECT unit FROM unit_rows")]
        return _RANDOM.sample(units, min(count, len(units)))
    drawn: dict[int, None] = {}
    for _ in range(4 * count):  # point queries only: there may be a million units
        drawn.update(
            dict.fromkeys(
                next(
                    query(
                        "SELECT unit FROM unit_rows WHERE unit >= ? ORDER BY unit LIMIT 1", _RANDOM.randint(low, high)
                    )
                )
            )
        )
    return list(drawn)[:count]


def read_package(packages: Packages, number: int, path: Path) -> None:
    """Read a package of prompts; an unreadable or oversized one is refused."""
    try:
        packages(number)
    except UNREADABLE as error:
        raise RunError(f"{path}: the journal is damaged: package {number} of its prompts: {error}") from None
