"""The journal: every call and every answer, durable before it takes effect.

One thread writes. Whatever piled up while the last transaction was on its way to the disk becomes the next
one (group commit), so the cost of durability is shared by all matches that wait for it.

Beside the database lies a tally: the number of entries that have been acknowledged. A journal that comes
back with fewer entries (a lost write-ahead log, a restored copy), or with other ones, is refused (see
``integrity``): it is never silently shorter.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from ostrom.answers import Answer
from ostrom.engine.integrity import FORMAT, check, sealed
from ostrom.errors import RunError
from ostrom.models.base import Reply, Usage
from ostrom.values import value

ANSWER = "INSERT INTO answers VALUES (?,?,?,?,?,?,?,?,?,?,?)"
CALL = "INSERT INTO calls VALUES (NULL" + ",?" * 26 + ")"
PLAY = "INSERT INTO plays VALUES (?,?,?,?)"
UNIT = (
    "INSERT INTO units VALUES (?,?,?,?,?,?,1,?) ON CONFLICT (unit) DO UPDATE SET state=excluded.state, "
    "reason=excluded.reason, steps=excluded.steps, scores=excluded.scores, facts=excluded.facts, "
    "times=times+1, seal=excluded.seal"
)

# A damaged name of a table makes a message that Python cannot read.
DAMAGE = (sqlite3.Error, UnicodeDecodeError)

Place = tuple[int, int, str]
"""Step, player, part."""


@value
class CallRecord:
    """One try at a call, as it is journaled."""

    unit: int
    step: int
    player: int
    part: str
    try_: int
    at: float
    model: str
    key: bytes
    prompt: bytes
    """JSON list of [role, content] pairs."""
    params: Mapping[str, Any]
    reply: Reply | None
    usd: float | None
    latency: float
    source: str
    error: str | None = None
    status: int | None = None


class Journal:
    """The database of one run. Open it for reading, or ``start`` it inside an event loop for writing."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        self.tally_path = path.with_name(path.name + ".tally")
        if not create and not path.exists():
            raise RunError(f"{path}: there is no journal")
        try:
            self._read = self._connect() if create else self._connect_to_read()
            if create and self._is_new():
                # All or nothing: a process that is killed here leaves an empty file, not half a journal.
                schema = files("ostrom.engine").joinpath("schema.sql").read_text()
                meta = (
                    f"INSERT INTO meta VALUES ('entries', 0), ('closed', 1);\nPRAGMA user_version={FORMAT};"
                )
                self._read.executescript(f"BEGIN IMMEDIATE;\n{schema}\n{meta}\nCOMMIT;")
            self.entries = check(self._read, path, self.tally_path)
        except DAMAGE as error:
            raise RunError(_explain(path, error)) from None
        self._pending: list[tuple[str, Any]] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = False
        self._failed: RunError | None = None
        self._texts: dict[int, tuple[Answer, tuple[Any, ...]]] = {}

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, check_same_thread=False, timeout=10)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    def _connect_to_read(self) -> sqlite3.Connection:
        try:
            connection = self._connect()
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return connection
        except sqlite3.OperationalError:
            log = self.path.with_name(self.path.name + "-wal")
            if log.exists() and log.stat().st_size:
                raise
            # Where nothing can be written not even a log can be made; without one the database is all there is.
            return sqlite3.connect(
                f"{self.path.resolve().as_uri()}?immutable=1", uri=True, check_same_thread=False
            )

    def _is_new(self) -> bool:
        row = self._read.execute("SELECT count(*) FROM sqlite_master WHERE name='meta'").fetchone()
        return not row[0]

    # -- writing -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the writer; call inside the event loop that will wait for it."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._write_forever, name="journal", daemon=True)
        self._thread.start()

    def answer(self, unit: int, step: int, player: int, part: str, answer: Answer, complaints: int) -> None:
        """Queue an answer. It is durable after the next ``flush``."""
        self._put(ANSWER, (unit, step, player, part, *self._encoded(answer), complaints))

    def _encoded(self, answer: Answer) -> tuple[Any, ...]:
        """The columns of an answer; scripts give the same answer object again and again."""
        known = self._texts.get(id(answer))
        if known is not None and known[0] is answer:
            return known[1]
        columns = (
            dump(answer.value),
            answer.reading,
            None if answer.probabilities is None else dump(answer.probabilities),
            answer.note,
            None if answer.facts is None else dump(answer.facts),
        )
        if len(self._texts) > 1000:
            self._texts.clear()
        self._texts[id(answer)] = (answer, columns)
        return columns

    def call(self, record: CallRecord) -> None:
        """Queue a try at a call."""
        self._put(CALL, record)

    def moves(self, unit: int, rounds: int, intended: bytes) -> None:
        """Queue all moves of a match that was played as arrays."""
        self._put(PLAY, (unit, rounds, intended))

    def finish(
        self, unit: int, state: str, reason: str | None, steps: int, scores: Any = None, facts: Any = None
    ) -> None:
        """Queue the end of a unit."""
        self._put(
            UNIT,
            (
                unit,
                state,
                reason,
                steps,
                None if scores is None else dump(scores),
                None if facts is None else dump(facts),
            ),
        )

    def _put(self, statement: str, row: Any) -> None:
        if self._failed is not None:
            raise self._failed
        with self._lock:
            self._pending.append((statement, row))
        if not self._wake.is_set():  # setting an event costs far more than asking
            self._wake.set()

    @property
    def backlog(self) -> int:
        """How many entries wait to be written."""
        return len(self._pending)

    async def flush(self) -> None:
        """Wait until everything queued so far is on the disk."""
        if self._failed is not None:
            raise self._failed
        assert self._loop is not None, "start() first"
        done = self._loop.create_future()
        with self._lock:
            self._waiting.append(done)
        self._wake.set()
        await done

    def _write_forever(self) -> None:
        try:
            connection = self._connect()
            tally = os.open(self.tally_path, os.O_CREAT | os.O_WRONLY, 0o644)
            os.pwrite(tally, b"%020d\n" % self.entries, 0)
            os.fsync(tally)
            # From here on the database alone says that it may lack something: a copy of it without its log
            # and its tally is not taken for the whole journal. The tally is there before it is asked for.
            self._mark(connection, closed=False)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except (sqlite3.Error, OSError) as error:
            self._fail(RunError(_explain(self.path, error)), [])
            return
        try:
            while True:
                self._wake.wait()
                self._wake.clear()
                with self._lock:
                    rows, self._pending = self._pending, []
                    waiting, self._waiting = self._waiting, []
                try:
                    if rows:
                        self._commit(connection, rows)
                        os.pwrite(tally, b"%020d\n" % self.entries, 0)
                except Exception as error:  # whatever it is: those who wait must hear of it
                    self._fail(RunError(_explain(self.path, error)), waiting)
                    return
                if waiting and self._loop is not None:
                    self._loop.call_soon_threadsafe(_release, waiting, None)
                if self._stop and not self._pending:
                    with suppress(sqlite3.Error):  # then it counts as not closed, which is all that is lost
                        self._mark(connection, closed=True)
                    return
        finally:
            os.close(tally)
            connection.close()

    def _commit(self, connection: sqlite3.Connection, rows: list[tuple[str, Any]]) -> None:
        groups: dict[str, list[Any]] = {}
        for statement, row in rows:
            groups.setdefault(statement, []).append(sealed(_call_row(row) if statement is CALL else row))
        with connection:
            for statement, group in groups.items():
                connection.executemany(statement, group)
            connection.execute("UPDATE meta SET value=? WHERE key='entries'", (self.entries + len(rows),))
        self.entries += len(rows)

    def _mark(self, connection: sqlite3.Connection, *, closed: bool) -> None:
        with connection:
            connection.execute("UPDATE meta SET value=? WHERE key='closed'", (int(closed),))

    def _fail(self, error: RunError, waiting: list[asyncio.Future[None]]) -> None:
        self._failed = error
        with self._lock:
            waiting = waiting + self._waiting
            self._waiting = []
        if self._loop is not None:
            self._loop.call_soon_threadsafe(_release, waiting, error)

    def close(self) -> None:
        """Write what is queued, stop the writer and close the database."""
        if self._thread is not None:
            self._stop = True
            self._wake.set()
            self._thread.join()
            self._thread = None
        self._read.close()

    # -- reading -------------------------------------------------------------------------------------

    def _rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._read.execute(query, values)
        except DAMAGE as error:
            raise RunError(_explain(self.path, error)) from None

    def states(self) -> dict[int, str]:
        """The state of every unit that has come to an end."""
        return dict(self._rows("SELECT unit, state FROM units"))

    def endings(self) -> Iterator[tuple[int, str, str | None]]:
        """Unit, state and reason of every unit that has come to an end."""
        yield from self._rows("SELECT unit, state, reason FROM units ORDER BY unit")

    def ended(self, unit: int) -> tuple[str, str | None, list[float] | None, dict[str, Any]] | None:
        """State, reason, scores and facts of a unit that has ended."""
        for state, reason, scores, facts in self._rows(
            "SELECT state, reason, scores, facts FROM units WHERE unit=?", unit
        ):
            return state, reason, load(scores), load(facts) or {}
        return None

    def begun(self) -> set[int]:
        """Units with answers or calls but no end."""
        query = "SELECT DISTINCT unit FROM {} WHERE unit NOT IN (SELECT unit FROM units WHERE state='done')"
        return {row[0] for table in ("answers", "calls") for row in self._rows(query.format(table))}

    def answers(self, unit: int) -> dict[Place, tuple[Answer, int]]:
        """All answers of a unit with the number of complaints before each."""
        query = (
            "SELECT step, player, part, value, reading, probabilities, note, facts, complaints "
            "FROM answers WHERE unit=? ORDER BY step, player, part"
        )
        return {
            (step, player, part): (Answer(load(value), reading, load(odds), note, load(facts)), complaints)
            for step, player, part, value, reading, odds, note, facts, complaints in self._rows(query, unit)
        }

    def play(self, unit: int) -> tuple[int, bytes] | None:
        """Rounds and packed moves of a match that was played as arrays."""
        for rounds, intended in self._rows("SELECT rounds, intended FROM plays WHERE unit=?", unit):
            return rounds, intended
        return None

    def replies(self, unit: int) -> dict[tuple[int, int, str, bytes], Reply]:
        """Replies that arrived, by place and key: on resume they are not asked for again."""
        query = (
            "SELECT step, player, part, key, reply, reasoning, reasoning_kind, finish, tokens_in, tokens_out, "
            "tokens_cached, tokens_reasoning, logprobs, version FROM calls WHERE unit=? AND error IS NULL"
        )
        return {
            (row[0], row[1], row[2], row[3]): Reply(
                row[4], row[5], row[6], row[7], Usage(*row[8:12]), load(row[12]), row[13]
            )
            for row in self._rows(query, unit)
        }

    def call_rows(self, run: str) -> Iterator[dict[str, Any]]:
        """All tries at calls in the order of matches, without their prompts."""
        names = (
            "id unit step player part try at model params reply reasoning reasoning_kind finish tokens_in "
            "tokens_out tokens_cached tokens_reasoning usd logprobs version latency source error status"
        ).split()
        query = f"SELECT {', '.join(names)} FROM calls ORDER BY unit, step, player, id"
        for row in self._rows(query):
            named = dict(zip(names, row, strict=True))
            named["player"] += 1
            yield {"run": run, "match": named.pop("unit"), **named}

    def prompt(self, call: int) -> list[list[str]] | None:
        """The messages of one call as [role, content] pairs."""
        for (blob,) in self._rows("SELECT prompt FROM calls WHERE id=?", call):
            return unpack_prompt(blob)
        return None

    def asked(self, unit: int, step: int, player: int) -> list[tuple[int, str, str, str | None]]:
        """The replies that arrived for one decision, in order: id of the call, part, text, reasoning."""
        query = (
            "SELECT id, part, reply, reasoning FROM calls "
            "WHERE unit=? AND step=? AND player=? AND error IS NULL ORDER BY id"
        )
        return list(self._rows(query, unit, step, player))

    def spent(self) -> dict[str, float]:
        """Totals over all calls: calls, tokens, money, retries, unpriced calls, unreadable replies."""
        row = next(
            self._rows(
                "SELECT count(*), coalesce(sum(tokens_in),0), coalesce(sum(tokens_out),0), coalesce(sum(usd),0), "
                "coalesce(sum(error IS NOT NULL),0), coalesce(sum(error IS NULL AND usd IS NULL),0), "
                "coalesce(sum(source='cache'),0) FROM calls"
            )
        )
        names = ("calls", "tokens_in", "tokens_out", "usd", "failed_tries", "unpriced", "cached")
        totals = dict(zip(names, row, strict=True))
        answers = next(
            self._rows(
                "SELECT coalesce(sum(part=''),0), coalesce(sum(complaints),0), coalesce(sum(reading='policy'),0) "
                "FROM answers"
            )
        )
        return totals | dict(zip(("decisions", "complaints", "policies"), answers, strict=True))


def _call_row(record: CallRecord) -> tuple[Any, ...]:
    reply = record.reply
    usage = reply.usage if reply else Usage()
    return (
        record.unit,
        record.step,
        record.player,
        record.part,
        record.try_,
        float(record.at),
        record.model,
        record.key,
        zlib.compress(record.prompt, 1),
        dump(record.params),
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


def unpack_prompt(blob: bytes) -> list[list[str]]:
    """The messages of a journaled call as [role, content] pairs."""
    messages: list[list[str]] = orjson.loads(zlib.decompress(blob))
    return messages


def dump(value: Any) -> str:
    """Plain data as canonical JSON text."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY).decode()


def load(text: str | None) -> Any:
    """Plain data from JSON text; None stays None."""
    if text is None:
        return None
    if text[0] == '"' and "\\" not in text:
        return text[1:-1]  # most answers are plain words
    return orjson.loads(text)


def _release(waiting: list[asyncio.Future[None]], error: RunError | None) -> None:
    for future in waiting:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


def _explain(path: Path, error: Exception) -> str:
    """One line about what the disk or the database refused, and what to do."""
    text = " ".join(str(error).split())
    low = text.lower()
    if "full" in low or "no space" in low:
        return f"{path}: the disk is full; nothing acknowledged is lost: free some space and run again"
    if "readonly" in low or "read-only" in low or "permission" in low:
        return f"{path}: cannot be written to ({text})"
    signs = ("malformed", "not a database", "disk image", "could not decode", "can't decode", "no such")
    if any(sign in low for sign in signs):
        return f"{path}: the journal is damaged ({text}); restore it from a copy"
    if "locked" in low:
        return f"{path}: another process holds the journal"
    return f"{path}: {text}"
