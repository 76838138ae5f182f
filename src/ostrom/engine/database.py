"""Databases in a run folder, opened so that one made by a stranger takes neither memory nor time without bound.

SQLite reads any file that it is given: a table may be a view that never ends, a value two billion zeros, a page a part
of a thousand rows, and a rollback journal may name another file to be deleted. Here a database is a plain file without
such a journal; its schema is, word by word, one that this package writes; and until its structure has been checked,
the steps of a query and the bytes of its rows are bounded by the size of the file.
"""

import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from ostrom.ground.errors import RunError
from ostrom.ground.files import plain

MOST_CELL = 128 << 20
"""Bytes of one value; the largest are packages of prompts and replies."""
EVERY = 100_000
"""Steps of SQLite's machine between two looks at what is left."""
STEPS, STEPS_PER_BYTE = 20_000_000, 40
"""Steps that a query may take, whatever the size of the file, and for each of its bytes."""
BYTES, COPIES = 1 << 20, 4
"""Bytes that a query may return whatever the size of the file, and how often it may return all of it."""

_COMMENT = re.compile(r"--[^\n]*")
Schema = tuple[tuple[str, str, str], ...]


def require_plain(path: Path) -> None:
    """Refuse a database that is no plain file, or that has a rollback journal beside it: ours never have one.

    SQLite would play it back into the database, and delete the file that it names.
    """
    for suffix in ("", "-wal", "-shm", ".tally"):
        plain(path.with_name(path.name + suffix))
    other = path.with_name(path.name + "-journal")
    if other.is_symlink() or other.exists():
        raise RunError(f"{other}: is a rollback journal, which no database of a run has (remove it)")


class Guard:
    """Bounds what the queries of one connection take together, until it is renewed."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        files = (path, path.with_name(path.name + "-wal"))
        size = sum(file.stat().st_size for file in files if file.exists())
        self._most = ((STEPS + STEPS_PER_BYTE * size) // EVERY, BYTES + COPIES * size)
        self._path = path
        self.renew()
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_CELL)
        connection.set_progress_handler(self._step, EVERY)
        connection.row_factory = self._row

    def renew(self) -> None:
        """Allow as much again, for the next query."""
        self._steps, self._bytes = self._most

    def _step(self) -> bool:
        self._steps -= 1
        return self._steps < 0

    def _row(self, _: sqlite3.Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
        self._bytes -= sum(len(value) for value in row if isinstance(value, str | bytes))
        if self._bytes < 0:
            raise RunError(f"{self._path}: the database is damaged: its rows have more bytes than the file")
        return row


def guard(connection: sqlite3.Connection, path: Path, *, reading: bool = True) -> Guard:
    """Guard a connection that has not been used yet; one for reading cannot write."""
    made = Guard(connection, path)
    # Neither statement reads the file: a hostile schema is first looked at with all bounds set.
    connection.execute("PRAGMA trusted_schema=OFF")
    if reading:
        connection.execute("PRAGMA query_only=ON")
    return made


def lift(connection: sqlite3.Connection) -> None:
    """Bound the size of a value alone: tables of a sound structure take steps and bytes in proportion to their size."""
    connection.set_progress_handler(None, EVERY)
    connection.row_factory = None


def schema_of(statements: str) -> Schema:
    """The tables and indexes that SQL statements make.

    >>> schema_of("CREATE TABLE a (b TEXT UNIQUE /* words */, -- more words\\n c);")
    (('index', 'sqlite_autoindex_a_1', ''), ('table', 'a', 'CREATE TABLE a (b TEXT UNIQUE /* words */, c)'))
    """
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(statements)
        return _schema(made)


def require_schema(connection: sqlite3.Connection, path: Path, allowed: Iterable[Schema]) -> None:
    """Refuse a database with other tables, columns or indexes than ours, or with views, triggers or virtual tables."""
    if _schema(connection) not in tuple(allowed):
        raise RunError(f"{path}: the database is not one of ours: its tables are not those of its format")


def _schema(connection: sqlite3.Connection) -> Schema:
    query = "SELECT type, name, coalesce(sql, '') FROM main.sqlite_master LIMIT 100"
    found = [
        (str(kind), str(name), " ".join(_COMMENT.sub("", str(sql)).split()))
        for kind, name, sql in connection.execute(query)
    ]
    return tuple(sorted(found))
