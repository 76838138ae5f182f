"""Brings the index of a run up to date, some thousand calls at a time.

Each batch of calls is written in one transaction, so the indexer can be stopped at any moment and goes on from there.
The journal is only read. An index that does not belong to the journal (of another study, or of a journal with more
entries, or with words of a match that was withdrawn since) is deleted and rebuilt.
"""

import fcntl
import gc
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Container, Iterator
from contextlib import closing, contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import orjson

from ostrom.engine.folder import Folder, identity
from ostrom.engine.integrity import DAMAGE, MOST_CELL, connect_read_only, explain, remove_limits
from ostrom.engine.shards import CallCursor
from ostrom.ground.errors import OstromError, RunError
from ostrom.ground.files import require_regular_file
from ostrom.ground.terminal import one_line, print_stderr
from ostrom.studies.run import Run, open_run
from ostrom.view.index import VERSION, index_path, own_schema, remove, schema_of, schema_text
from ostrom.view.words import PLACE, REMEMBERED, NewLines, beginning, decoded, indexable

FOLLOWED = 1800
"""Seconds after which the indexer of a run in play ends; the next page that is read starts it again."""
PAUSE = 3
"""Seconds between two updates of the index of a run in play."""
TOGETHER = 32_768
"""The most calls indexed in one transaction, which also ends after ``MOST_BYTES`` characters of text."""
MOST_BYTES = 32_000_000
MOST_PENDING = 64_000_000
"""Bytes of words that SQLite collects in memory before it writes them: more than one transaction has."""


class _Stale(Exception):
    """Raised if the index does not belong to the journal (any more)."""


def update(folder: Path, *, stop: Callable[[], bool] = lambda: False, path: Path | None = None) -> bool:
    """Bring the index of a run up to date; False if ``stop`` ended the work or another indexer is at it.

    ``path`` is the path of the index, if it is not in the user's cache folder.
    """
    where = path or index_path(folder)
    where.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(where) as mine:
        if not mine:
            return False
        for _ in range(2):
            try:
                return _update(folder, where, stop)
            except _Stale:
                remove(where)
            except DAMAGE:
                _check_journal(folder)
                remove(where)  # the index itself is damaged, and can be rebuilt
        raise RunError(f"{where}: the index cannot be written")


def _update(folder: Path, where: Path, stop: Callable[[], bool]) -> bool:
    with open_run(folder, checked=False) as run, closing(_opened(where, run)) as connection:
        sound = not run.folder.being_played  # a run in play is not checked here, so the limits on reading stay
        if sound:
            run.journal.check_structure()
        writer = _Indexer(run, connection, sound, stop)
        try:
            return writer.update()
        except OstromError as error:
            connection.rollback()
            writer.tell(problem=str(error))
            raise


class _Indexer:
    """Updates the index of a run from its journals."""

    def __init__(self, run: Run, connection: sqlite3.Connection, sound: bool, stop: Callable[[], bool]) -> None:
        self.run, self.connection, self.sound, self.stop = run, connection, sound, stop

    def update(self) -> bool:
        """Index all calls that are not indexed yet; False if ``stop`` ended the work before."""
        entries = self.run.journal.entries
        parts = self.run.folder.parts
        (indexed,) = self.connection.execute("SELECT count(*) FROM journals").fetchone()
        if indexed not in (0, len(parts)):
            raise _Stale
        hidden_matches = []
        for number, part in enumerate(parts):
            with self._reading(part) as journal:
                hidden_matches.append(self._record_calls(number, journal))
        self.tell(problem=None)
        for number, (part, hidden) in enumerate(zip(parts, hidden_matches, strict=True)):
            with self._reading(part) as journal:
                if not self._index_calls(number, journal, hidden):
                    return False
        self.tell(entries=entries, at=time.time())
        self.connection.executescript("PRAGMA incremental_vacuum")  # pages that merging left empty
        return True

    @contextmanager
    def _reading(self, part: Folder) -> Iterator[sqlite3.Connection]:
        with closing(connect_read_only(part.journal)) as journal:
            if self.sound:
                remove_limits(journal)
            yield journal

    def _record_calls(self, number: int, journal: sqlite3.Connection) -> set[int]:
        """Store how many calls a journal has; return its hidden matches, whose calls are not indexed.

        ``number`` is the journal's position among the parts of the run.
        """
        through, seal, hidden_before = self.connection.execute(
            "SELECT calls, seal, hidden FROM journals WHERE number=?", (number,)
        ).fetchone() or (0, None, "[]")
        cursor = CallCursor(through, seal)
        if not cursor.look(journal):
            raise _Stale
        withdrawn = {unit for (unit,) in journal.execute("SELECT unit FROM units WHERE state='withdrawn'")}
        hidden = {
            unit
            for (unit,) in journal.execute("SELECT DISTINCT unit FROM calls")
            if unit in withdrawn or unit in self.run.plan.hidden
        }
        if any(
            journal.execute("SELECT 1 FROM calls WHERE unit=? AND id <= ? LIMIT 1", (unit, through)).fetchone()
            for unit in hidden - set(orjson.loads(hidden_before))
        ):
            raise _Stale  # the words of a match now hidden must not stay in the index
        facts = (number, cursor.before, cursor.through, cursor.last, seal, orjson.dumps(sorted(hidden)).decode())
        with self.connection:
            self.connection.execute("INSERT OR REPLACE INTO journals VALUES (?, ?, ?, ?, ?, ?)", facts)
        return hidden

    def _index_calls(self, number: int, journal: sqlite3.Connection, hidden: set[int]) -> bool:
        """Index the new calls of a journal; False if ``stop`` ended the work before the last of them."""
        through, last = self.connection.execute(
            "SELECT calls, of_calls FROM journals WHERE number=?", (number,)
        ).fetchone()
        speech = Speech(self.run, self.connection, number, journal, hidden)
        while through < last:
            done = None if self.stop() else speech.add(through)
            if done is None:
                return False
            through = done
        return True

    def tell(self, **facts: Any) -> None:
        """Store facts about the index in its table ``meta``."""
        with self.connection:
            self.connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(facts.items()))


class Speech:
    """Reads calls of a journal and puts their words into the index."""

    def __init__(
        self, run: Run, connection: sqlite3.Connection, number: int, journal: sqlite3.Connection, hidden: Container[int]
    ) -> None:  # fmt: skip
        self.run, self.connection, self.number, self.journal, self.hidden = (run, connection, number, journal, hidden)
        self._news = NewLines(journal)
        self._who = lru_cache(maxsize=REMEMBERED)(self._cell_and_names)
        self._voice = lru_cache(maxsize=None)(partial(_number, connection, "voices", "cell, agent"))
        self._cell = lru_cache(maxsize=None)(partial(_number, connection, "cells", "levels"))

    def add(self, through: int) -> int | None:
        """Index the next calls in one transaction; return the last one's number, or None if there is none."""
        rows, voices, size, last = [], [], 0, None
        cursor = self.journal.execute(
            f"SELECT id, unit, player, prompt, nth, {beginning('reply')}, {beginning('reasoning')}, seal "
            "FROM calls WHERE id > ? ORDER BY id LIMIT ?",
            (through, TOGETHER),
        )
        for number, unit, player, package, nth, reply, reasoning, seal in cursor:
            last = number, seal
            if (who := self._who(unit)) is not None:
                cell, agents = who
                voices.append((number, self._voice(cell, agents[player] if 0 <= player < len(agents) else "")))
                texts = (
                    self._news.new_lines(number, unit, player, package, nth),
                    decoded(reply) or "",
                    decoded(reasoning) or "",
                )
                rows += [
                    (
                        place * PLACE + number,
                        text if text.isascii() else indexable(text).encode("utf-8", "replace").decode(),
                    )
                    for place, text in enumerate(texts)
                ]
                size += sum(map(len, texts))
            if size > MOST_BYTES:
                break
        cursor.close()
        if last is None:
            return None
        with self.connection:
            self.connection.executemany("INSERT INTO calls VALUES (?, ?)", voices)
            self.connection.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", sorted(rows))
            self.connection.execute("UPDATE journals SET calls=?, seal=? WHERE number=?", (*last, self.number))
        return int(last[0])

    def _cell_and_names(self, number: int) -> tuple[int, tuple[str, ...]] | None:
        """Return the cell of a unit and its players' names; None for a unit that is hidden or not in the plan."""
        if number not in self.hidden and 0 <= number < len(self.run.plan):
            with suppress(OstromError):
                unit = self.run.plan.unit(number)
                levels = orjson.dumps(
                    dict(unit.cell), default=str, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
                ).decode()
                return self._cell(levels), tuple(seated.name for seated in unit.players)
        return None


def _number(connection: sqlite3.Connection, table: str, columns: str, *values: object) -> int:
    """Return the number of a row of a table, inserting it if it is new."""
    places = ", ".join("?" * len(values))
    found = connection.execute(f"SELECT id FROM {table} WHERE ({columns})=({places})", values).fetchone()
    insert = f"INSERT INTO {table} ({columns}) VALUES ({places}) RETURNING id"
    return int((found or connection.execute(insert, values).fetchone())[0])


# -- the file ------------------------------------------------------------------------------------------


def _opened(where: Path, run: Run) -> sqlite3.Connection:
    """Open the index for writing, or create it; raise ``_Stale`` if it has other tables or is of another run."""
    new = not require_regular_file(where).exists()
    connection = sqlite3.connect(where.resolve().as_uri(), uri=True, timeout=10)
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_CELL)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        for statement in (
            "auto_vacuum=INCREMENTAL", "journal_mode=WAL", "synchronous=NORMAL", "trusted_schema=OFF",
            "cache_size=-16000",
        ):  # fmt: skip
            connection.execute(f"PRAGMA {statement}").fetchone()
        if new:
            connection.executescript(f"BEGIN;\n{schema_text()}\nCOMMIT;")
            with connection:
                facts = (
                    ("version", VERSION), ("study", identity(run.manifest)),
                    ("folder", os.fsencode(run.folder.path.resolve())),
                )  # fmt: skip
                connection.executemany("INSERT INTO meta VALUES (?, ?)", facts)
                # Every transaction writes a part, and 16 are merged into one: with 4 a word is written once more.
                connection.executemany(
                    "INSERT INTO words (words, rank) VALUES (?, ?)", [("hashsize", MOST_PENDING), ("automerge", 16)]
                )
        if schema_of(connection) != own_schema() or not _belongs(connection, run):
            raise _Stale
    except BaseException:
        connection.close()
        raise
    return connection


def _belongs(connection: sqlite3.Connection, run: Run) -> bool:
    """Whether an index is of this version and study, and of no more entries than the run has."""
    meta = dict(connection.execute("SELECT key, value FROM meta"))
    entries, same = meta.get("entries"), (meta.get("version"), meta.get("study")) == (VERSION, identity(run.manifest))
    return same and not (type(entries) is int and entries > run.journal.entries)


def _check_journal(folder: Path) -> None:
    """Raise an error about the journal unless its structure is intact."""
    with open_run(folder, checked=False) as run:
        try:
            run.journal.check_structure()
        except DAMAGE as error:
            raise RunError(explain(run.journal.path, error)) from None


@contextmanager
def _locked(where: Path) -> Iterator[bool]:
    """Hold the lock on an index; yield False if another indexer holds it."""
    handle = os.open(
        require_regular_file(where.with_name(where.name + ".lock")), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644
    )
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
    finally:
        os.close(handle)


def follow(folder: Path, path: Path | None, stop: Callable[[], bool]) -> None:
    """Bring an index up to date, and again every few seconds while the run is in play (half an hour at the most)."""
    until = time.monotonic() + FOLLOWED
    while not stop():
        if not update(folder, stop=stop, path=path) or not Folder(folder).being_played or time.monotonic() > until:
            return
        for _ in range(PAUSE):
            time.sleep(0 if stop() else 1)


def main(arguments: list[str]) -> None:
    """Write the index of the run FOLDER to the file PATH, until it is up to date or the parent process ends."""
    os.nice(10)
    gc.set_threshold(50_000, *gc.get_threshold()[1:])  # prompts and rows leave no cycles, and each collection walks all
    folder, path, parent = Path(arguments[0]), Path(arguments[1]), os.getppid()
    try:
        follow(folder, path, lambda: os.getppid() != parent)
    except OstromError as error:
        print_stderr(one_line(str(error)))
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
