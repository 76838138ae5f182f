"""The register ``people.db``: the person behind each code, personal data, and payments.

It lies beside the journal, readable by its owner alone, is never exported and keeps no trace of what was deleted
(``secure_delete``). The journal holds random codes only. Personal data is kept for ``people.keep``, counted from the
day somebody joined; whoever is owed money stays until a payment file has them, because erased people cannot be paid.
"""

import asyncio
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostrom.engine.integrity import guard, remove_limits, require_plain, require_schema, schema_of
from ostrom.ground.errors import RunError
from ostrom.people.payment import Payment, add_payments, read_payments

FILE = "people.db"
FORMAT = 2
CUTS = 100
"""The most tries to truncate the log after erasing."""
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE participants (
  code TEXT PRIMARY KEY, visit INTEGER UNIQUE NOT NULL, source TEXT NOT NULL, external TEXT NOT NULL,
  session TEXT NOT NULL, test INTEGER NOT NULL, language TEXT NOT NULL, joined REAL NOT NULL, ended TEXT,
  UNIQUE (source, external));
CREATE TABLE contacts (code TEXT NOT NULL, step INTEGER NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY (code, step, name));
CREATE TABLE events (id INTEGER PRIMARY KEY, code TEXT NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, detail TEXT);
CREATE TABLE payments (code TEXT PRIMARY KEY, amount TEXT NOT NULL, currency TEXT NOT NULL, at REAL NOT NULL,
  file TEXT NOT NULL);
CREATE TABLE tombstones (code TEXT PRIMARY KEY, at REAL NOT NULL);
CREATE TABLE requests (id INTEGER PRIMARY KEY, what TEXT NOT NULL, code TEXT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Participant:
    """One person in the register."""

    code: str
    visit: int
    source: str
    external: str
    session: str
    test: bool
    language: str
    joined: float
    ended: str | None = None


def new_code() -> str:
    """Return a random code without letters that are easily confused."""
    return "".join(secrets.choice(_LETTERS) for _ in range(10))


class Register:
    """The database of the people of one run."""

    def __init__(self, folder: Path, identity: str, *, create: bool = False) -> None:
        self.path = folder / FILE
        require_plain(self.path)
        if not self.path.exists():
            if not create:
                raise RunError(f"{self.path}: there is no register of people")
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW, 0o600))
        self._lock = threading.Lock()
        self._pending: list[tuple[str, tuple[Any, ...]]] = []
        self._queued = self._written = 0
        self._flushing: asyncio.Task[None] | None = None
        try:
            self.path.chmod(0o600)
            old = os.umask(0o077)  # its log gets the permissions of the process
            try:
                self._db = self._connect(identity)
            finally:
                os.umask(old)
        except (sqlite3.DatabaseError, OSError) as error:
            raise RunError(f"{self.path}: the register cannot be used: {error}") from None

    def _connect(self, identity: str) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=10, check_same_thread=False)
        try:
            guard(db, self.path, reading=False)
            if not self.path.stat().st_size:  # a rollback journal left by a crash would be refused
                db.execute("PRAGMA journal_mode=MEMORY").fetchone()
            # Temporary files in memory: vacuuming would leave a copy of everything in a system folder.
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "temp_store=MEMORY"):
                db.execute(f"PRAGMA {pragma}").fetchone()
            if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                db.executescript(f"BEGIN IMMEDIATE;{_SCHEMA}PRAGMA user_version={FORMAT};COMMIT;")
                with db:
                    db.execute("INSERT INTO meta VALUES ('study', ?), ('key', ?)", (identity, secrets.token_bytes(32)))
            if db.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
                raise RunError(f"{self.path}: is no register of this version")
            require_schema(db, self.path, [schema_of(_SCHEMA)])
            if (verdict := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise RunError(f"{self.path}: is damaged (put back a copy of it): {' '.join(str(verdict).split())}")
            remove_limits(db)
            meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
            if meta.get("study") != identity:
                raise RunError(f"{self.path}: belongs to another study than the journal beside it")
            if not isinstance(meta.get("key"), bytes) or len(meta["key"]) != 32:
                raise RunError(f"{self.path}: holds no key for its tokens (put back a copy of it)")
        except BaseException:
            db.close()
            raise
        return db

    def close(self) -> None:
        """Write what is queued and close."""
        try:
            self.commit()
        finally:
            self._db.close()

    # -- reading -------------------------------------------------------------------------------------

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise RunError(f"{self.path}: the register cannot be read: {error}") from None

    def meta(self, key: str) -> Any:
        """Return a metadata value."""
        rows = self._rows("SELECT value FROM meta WHERE key=?", key)
        return rows[0][0] if rows else None

    def set_meta(self, key: str, value: Any) -> None:
        """Store a metadata value."""
        self._put("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)
        self.commit()

    @property
    def key(self) -> bytes:
        """Return the key that signs tokens."""
        return bytes(self.meta("key"))

    def participants(self) -> Iterator[Participant]:
        """Everybody, in the order of their visits."""
        query = "SELECT code, visit, source, external, session, test, language, joined, ended FROM participants "
        for code, visit, source, external, session, test, *rest in self._rows(query + "ORDER BY visit"):
            yield Participant(code, visit, source, external, session, bool(test), *rest)

    def tombstones(self) -> set[str]:
        """The codes of people whose data was erased."""
        return {code for (code,) in self._rows("SELECT code FROM tombstones")}

    def payments(self) -> dict[str, Payment]:
        """Return all payments by code, from the register and from the ledger, in case the register is an older copy."""
        return {
            **read_payments(self.path.parent),
            **{row[0]: Payment(*row) for row in self._rows("SELECT code, amount, currency, file FROM payments")},
        }

    def events(self, code: str | None = None) -> list[tuple[str, float, str, str | None]]:
        """Return the recorded events, oldest first: code, time, kind, detail."""
        return self._rows("SELECT code, at, kind, detail FROM events WHERE ?1 IS NULL OR code=?1 ORDER BY id", code)

    def older_than(self, at: float) -> list[str]:
        """The codes of people who joined before a time and whose visit is over."""
        rows = self._rows("SELECT code FROM participants WHERE ended IS NOT NULL AND joined < ? ORDER BY visit", at)
        return [code for (code,) in rows]

    def requests(self) -> list[tuple[int, str, str]]:
        """Return the requests of other commands to the running server."""
        return self._rows("SELECT id, what, code FROM requests ORDER BY id")

    # -- writing: queued, and committed together in a thread -----------------------------------------

    def _put(self, statement: str, *values: Any) -> None:
        self._pending.append((statement, values))
        self._queued += 1

    def join(self, who: Participant) -> None:
        """Queue a new participant."""
        values = (who.code, who.visit, who.source, who.external, who.session, int(who.test), who.language, who.joined)
        self._put("INSERT INTO participants VALUES (?,?,?,?,?,?,?,?,NULL)", *values)

    def ended(self, code: str, how: str) -> None:
        """Queue the end of a visit."""
        self._put("UPDATE participants SET ended=? WHERE code=?", how, code)

    def language(self, code: str, language: str) -> None:
        """Queue the language that somebody chose."""
        self._put("UPDATE participants SET language=? WHERE code=?", language, code)

    def note(self, code: str, kind: str, detail: str | None = None) -> None:
        """Queue an event; nothing is noted about people whose data was erased."""
        self._put(
            "INSERT INTO events SELECT NULL,?1,?2,?3,?4 WHERE NOT EXISTS (SELECT 1 FROM tombstones WHERE code=?1)",
            code, time.time(), kind, detail,
        )  # fmt: skip

    def contact(self, code: str, step: int, texts: Iterable[tuple[str, str]]) -> None:
        """Queue personal texts."""
        for name, text in texts:
            self._put(
                "INSERT OR REPLACE INTO contacts SELECT ?1,?2,?3,?4 "
                "WHERE NOT EXISTS (SELECT 1 FROM tombstones WHERE code=?1)",
                code, step, name, text,
            )  # fmt: skip

    def request(self, what: str, code: str) -> None:
        """Queue a request to the running server."""
        self._put("INSERT INTO requests VALUES (NULL,?,?)", what, code)

    def handled(self, request: int) -> None:
        """Queue that a request was handled."""
        self._put("DELETE FROM requests WHERE id=?", request)

    def pay(self, payments: Sequence[Payment]) -> None:
        """Write payments to the register and the ledger at once; a second payment to the same person is refused."""
        for one in payments:
            self._put(
                "INSERT INTO payments VALUES (?,?,?,?,?)", one.code, one.amount, one.currency, time.time(), one.file
            )
        self.commit()
        add_payments(self.path.parent, payments)

    def commit(self) -> None:
        """Write the queue now."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        try:
            with self._lock, self._db:
                for statement, values in pending:
                    self._db.execute(statement, values)
        except sqlite3.Error as error:
            if isinstance(error, sqlite3.IntegrityError):
                self._written += len(pending)  # such as a second payment: it can never be written
            else:
                self._pending[:0] = pending  # such as a full disk: written as soon as there is space
            raise RunError(f"{self.path}: the register cannot be written: {error}") from None
        self._written += len(pending)

    async def flush(self) -> None:
        """Wait until everything queued so far is on the disk; those who wait share one commit."""
        wanted = self._queued
        while self._written < wanted:
            if self._flushing is None or self._flushing.done():
                self._flushing = asyncio.create_task(asyncio.to_thread(self.commit))
            await asyncio.shield(self._flushing)

    def erase(self, *codes: str) -> int:
        """Erase all data of people, leave tombstones, and overwrite the space; return how many were known."""
        count = 0
        for code in codes:
            count += len(self._rows("SELECT 1 FROM participants WHERE code=?", code))
            self._put(
                "INSERT OR IGNORE INTO tombstones SELECT code, ?2 FROM participants WHERE code=?1", code, time.time()
            )
            for table in ("participants", "contacts", "events"):
                self._put(f"DELETE FROM {table} WHERE code=?", code)
        self.commit()
        try:
            with self._lock, closing(self._db.cursor()) as cursor:
                cursor.execute("VACUUM")
                # The log still holds erased data until it is truncated; a concurrent reader prevents that.
                for _ in range(CUTS):
                    if not cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                        return count
                    time.sleep(0.05)
        except sqlite3.Error as error:
            raise RunError(f"{self.path}: the space of what was erased cannot be overwritten: {error}") from None
        raise RunError(f"{self.path}: is being read, so its log still holds what was erased: try again")


@dataclass(frozen=True, slots=True)
class Overdue:
    """Codes of people whose data is older than the retention time."""

    erasable: tuple[str, ...]
    unpaid: tuple[str, ...]
    """Those who are still owed money."""

    def __len__(self) -> int:
        return len(self.erasable) + len(self.unpaid)


def overdue(register: Register, keep: float, now: float, owes: Callable[[str], bool]) -> Overdue:
    """Return whose data is older than ``keep`` seconds; ``owes`` says whether a person is still unpaid."""
    old = register.older_than(now - keep)
    unpaid = {code for code in old if owes(code)}
    return Overdue(tuple(code for code in old if code not in unpaid), tuple(sorted(unpaid)))
