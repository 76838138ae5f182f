"""The journal: every call and every answer, durable before it takes effect.

Beside the database lies a tally: the number of entries that have been acknowledged. A journal that comes
back with fewer entries (a lost write-ahead log, a restored copy), or with other ones, is refused (see
``integrity``): it is never silently shorter. ``entries`` says what is written, ``writer`` how.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ostrom.answers import Answer
from ostrom.engine.entries import (
    ANSWER,
    CALL,
    PLAY,
    UNIT,
    CallRecord,
    Place,
    Row,
    answer_columns,
    dump,
    load,
    unpacked,
)
from ostrom.engine.integrity import DAMAGE, FORMAT, check, explain
from ostrom.engine.writer import Writer
from ostrom.errors import RunError
from ostrom.models.base import Reply, Usage


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
            self._entries = check(self._read, path, self.tally_path)
        except DAMAGE as error:
            raise RunError(explain(path, error)) from None
        self._writer: Writer | None = None
        self._texts: dict[int, tuple[Answer, Row]] = {}
        self._package = lru_cache(maxsize=64)(self._unpacked)

    @property
    def entries(self) -> int:
        """How many entries the journal holds."""
        return self._entries if self._writer is None else self._writer.entries

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
        self._writer = Writer(self.path, self.tally_path, self._entries, self._connect)

    def answer(self, unit: int, step: int, player: int, part: str, answer: Answer, complaints: int) -> None:
        """Queue an answer. It is durable after the next ``flush``."""
        self._put(ANSWER, (unit, step, player, part, *self._encoded(answer), complaints))

    def _encoded(self, answer: Answer) -> Row:
        """The columns of an answer; scripts give the same answer object again and again."""
        known = self._texts.get(id(answer))
        if known is not None and known[0] is answer:
            return known[1]
        columns = answer_columns(answer)
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
        told = (None if scores is None else dump(scores), None if facts is None else dump(facts))
        self._put(UNIT, (unit, state, reason, steps, *told))

    def _put(self, statement: str, entry: Any) -> None:
        assert self._writer is not None, "start() first"
        self._writer.put(statement, entry)

    @property
    def backlog(self) -> int:
        """How many entries wait to be written."""
        return 0 if self._writer is None else self._writer.backlog

    async def flush(self) -> None:
        """Wait until everything queued so far is on the disk."""
        assert self._writer is not None, "start() first"
        await self._writer.flush()

    def close(self) -> None:
        """Write what is queued, stop the writer and close the database."""
        if self._writer is not None:
            self._writer.close()
            self._entries = self._writer.entries
            self._writer = None
        self._read.close()

    # -- reading -------------------------------------------------------------------------------------

    def _rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._read.execute(query, values)
        except DAMAGE as error:
            raise RunError(explain(self.path, error)) from None

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

    def call_rows(self, run: str, unit: int | None = None) -> Iterator[dict[str, Any]]:
        """All tries at calls (of one unit) in the order of matches, without their prompts."""
        names = (
            "id unit step player part try at model params reply reasoning reasoning_kind finish tokens_in "
            "tokens_out tokens_cached tokens_reasoning usd logprobs version latency source error status"
        ).split()
        which, values = ("", ()) if unit is None else ("WHERE unit=? ", (unit,))
        query = f"SELECT {', '.join(names)} FROM calls {which}ORDER BY unit, step, player, id"
        for row in self._rows(query, *values):
            named = dict(zip(names, row, strict=True))
            named["player"] += 1
            yield {"run": run, "match": named.pop("unit"), **named}

    def prompt(self, call: int) -> list[list[str]] | None:
        """The messages of one call as [role, content] pairs."""
        for package, nth in self._rows("SELECT prompt, nth FROM calls WHERE id=?", call):
            return self._package(package)[nth]
        return None

    def _unpacked(self, package: int) -> list[list[list[str]]]:
        for (texts,) in self._rows("SELECT texts FROM prompts WHERE id=?", package):
            return unpacked(texts)
        raise RunError(f"{self.path}: the journal is damaged: package {package} of its prompts is missing")

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
