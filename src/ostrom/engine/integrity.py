"""Integrity of the journal: a checksum per row, a count of entries, and a tally of acknowledged entries.

Three things can happen to a file: bits change (a checksum no longer fits), a part of it falls back to an earlier state
(the count no longer fits), or its end is gone (fewer entries than the tally says were acknowledged). SQLite's own
check finds broken structure, but not a changed byte inside a value, an outdated page, or a lost log.

The databases of a run folder are opened with limits, so that one made by a stranger cannot take unbounded memory or
time.

SQLite reads any file: a table may be a view that never ends, a value may be two billion zeros, a page may belong to a
thousand rows, and a rollback journal may name another file to be deleted. Here a database must be a plain file without
a rollback journal; its schema must be, word by word, one that this package writes; and until its structure has been
checked, the steps of a query and the bytes of its rows are limited by the size of the file.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import lru_cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any
from zlib import crc32

from ostrom.ground.errors import RunError
from ostrom.ground.files import read_plain, require_regular_file

MOST_CELL = 128 << 20
"""The largest value that a database may hold, in bytes."""
EVERY = 100_000
"""Steps of SQLite's virtual machine between two checks of the limits."""
STEPS, STEPS_PER_BYTE = 20_000_000, 40
"""The most steps of a query: a base, and an amount for each byte of the file."""
BYTES, COPIES = 1 << 20, 4
"""The most bytes that a query may return: a base, and a multiple of the size of the file."""

_COMMENT = re.compile(r"--[^\n]*")
Schema = tuple[tuple[str, str, str], ...]


def require_plain(path: Path) -> None:
    """Refuse a database that is no regular file, or that has a rollback journal beside it.

    SQLite would play a rollback journal back into the database, and delete the file that the journal names.
    """
    for suffix in ("", "-wal", "-shm", ".tally"):
        require_regular_file(path.with_name(path.name + suffix))
    other = path.with_name(path.name + "-journal")
    if other.is_symlink() or other.exists():
        raise RunError(f"{other}: is a rollback journal, which no database of a run has (remove it)")


class Guard:
    """Limits the steps and bytes that the queries of one connection take together, until ``reset_limits``."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        size = sum(file.stat().st_size for file in (path, path.with_name(path.name + "-wal")) if file.exists())
        self._most = ((STEPS + STEPS_PER_BYTE * size) // EVERY, BYTES + COPIES * size)
        self._path = path
        self.reset_limits()
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_CELL)
        connection.set_progress_handler(self._step, EVERY)
        connection.row_factory = self._row

    def reset_limits(self) -> None:
        """Give the next queries the full limits again."""
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
    """Set limits on an unused connection; with ``reading`` it cannot write."""
    guarded = Guard(connection, path)
    # Neither statement reads the file: a hostile schema is read only with all limits set.
    connection.execute("PRAGMA trusted_schema=OFF")
    if reading:
        connection.execute("PRAGMA query_only=ON")
    return guarded


def remove_limits(connection: sqlite3.Connection) -> None:
    """Remove the limits on steps and bytes, once the structure is checked; the largest size of a value still holds."""
    connection.set_progress_handler(None, EVERY)
    connection.row_factory = None


def schema_of(statements: str) -> Schema:
    """Return kind, name and SQL of every table and index that SQL statements create.

    >>> schema_of("CREATE TABLE a (b TEXT UNIQUE /* words */, -- more words\\n c);")
    (('index', 'sqlite_autoindex_a_1', ''), ('table', 'a', 'CREATE TABLE a (b TEXT UNIQUE /* words */, c)'))
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(statements)
        return _schema(connection)


def require_schema(connection: sqlite3.Connection, path: Path, allowed: Iterable[Schema]) -> None:
    """Refuse a database whose schema is not an allowed one: other tables, columns or indexes, views or triggers."""
    if _schema(connection) not in tuple(allowed):
        raise RunError(f"{path}: the database is not one of ours: its tables are not those of its format")


def _schema(connection: sqlite3.Connection) -> Schema:
    rows = connection.execute("SELECT type, name, coalesce(sql, '') FROM main.sqlite_master LIMIT 100")
    return tuple(
        sorted((str(kind), str(name), " ".join(_COMMENT.sub("", str(sql)).split())) for kind, name, sql in rows)
    )


FORMATS = {6: ("schema.sql", "rows.sql"), 7: ("schema.sql", "rows.sql", "batches.sql")}
"""The schema files of each supported format number."""
FORMAT = 6
"""The format of a new journal; with the table of batches it is one higher."""

MOST_TALLY = 64
"""The largest tally file, in bytes."""

# A damaged table name gives an error message that is not valid UTF-8.
DAMAGE = (sqlite3.Error, UnicodeDecodeError)

COLUMNS = {
    "answers": "unit, step, player, part, value, reading, probabilities, note, facts, complaints, question",
    "questions": "id, asked",
    "calls": (
        "unit, step, player, part, try, at, model, key, prompt, nth, params, reply, reasoning, reasoning_kind, finish, "
        "tokens_in, tokens_out, tokens_cached, tokens_reasoning, usd, logprobs, version, latency, source, error, status"
    ),
    "prompts": "id, texts",
    "plays": "unit, rounds, intended",
    "units": "unit, state, reason, steps, scores, facts",
    "batches": "batch, at, event, told, keys",
    "unit_rows": "unit, made, refused, of",
}
"""The columns that the checksum of a row covers, by table, in order."""

_NUMBERS = {
    "unit", "step", "player", "complaints", "question", "id", "try", "prompt", "nth", "tokens_in", "tokens_out",
    "tokens_cached", "tokens_reasoning", "status", "rounds", "steps", "batch", "of",
}  # fmt: skip
_REALS, _BYTES = {"at", "usd", "latency"}, {"key", "texts", "intended", "keys", "made"}
_MAY_MISS = {
    "probabilities", "note", "facts", "question", "reply", "reasoning", "reasoning_kind", "finish", "tokens_in",
    "tokens_out", "tokens_cached", "tokens_reasoning", "usd", "logprobs", "version", "latency", "error", "status",
    "reason", "scores", "refused",
}  # fmt: skip
"""Columns that may be NULL. SQLite stores any type in any column, so types are checked."""


SEALS = " + ".join(
    f"(SELECT coalesce(sum(seal), 0) FROM {table} WHERE unit={{unit}})" for table in ("answers", "plays", "units")
)
"""The sum of the checksums of the entries from which a unit's rows were made, in SQL."""


def seal(row: tuple[Any, ...]) -> int:
    """The checksum of a row."""
    return crc32(repr(row).encode("utf-8", "surrogatepass"))


def with_checksum(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Append the checksum to a row.

    >>> with_checksum((1, 6, b"moves"))
    (1, 6, b'moves', 3080996579)
    """
    return (*row, seal(row))


def check(connection: sqlite3.Connection, path: Path, tally: Path, *, most: int | None = None) -> tuple[int, bool]:
    """Check a journal; return its number of entries and whether all checksums were verified.

    In a journal with more than ``most`` entries, only structure, counts and the origin of rows are checked; the
    checksum of an entry is then verified when the entry is read.
    """
    # Read the tally before the journal: a playing process may add entries in between.
    acknowledged = _acknowledged(tally)
    connection.execute("BEGIN")
    try:
        return _check(connection, path, tally, acknowledged, most)
    finally:
        connection.rollback()


def _check(
    connection: sqlite3.Connection, path: Path, tally: Path, acknowledged: int | None, most: int | None
) -> tuple[int, bool]:
    require_format(connection, path)
    stated = connection.execute("SELECT value FROM meta WHERE key='entries'").fetchone()
    every = most is None or stated is None or type(stated[0]) is not int or stated[0] <= most
    check_structure(connection, path, "integrity_check" if every else "quick_check")
    remove_limits(connection)
    meta = dict(connection.execute("SELECT key, value FROM meta"))
    entries, closed = meta.get("entries"), meta.get("closed")
    if type(entries) is not int or closed not in (0, 1):
        raise RunError(f"{path}: the journal has no count of its entries; it is not one of ours")
    if acknowledged is None and not closed:
        # A closed database is complete without its WAL; an unclosed one may lack entries of the WAL.
        raise RunError(
            f"{path}: was not closed, and {tally.name} is missing or unreadable, so it cannot be told whether "
            f"entries are missing; it holds {entries} (to go on with these, write {entries} into {tally.name})"
        )
    if acknowledged is not None and entries < acknowledged:
        raise RunError(
            f"{path}: holds {entries} entries but {acknowledged} were acknowledged; "
            f"{acknowledged - entries} are missing (was {path.name}-wal removed or an old copy restored?)"
        )
    if every:
        _check_rows(connection, path)
    # Derived rows are no entries.
    counts = (f"(SELECT count(*) FROM {table}) + " for table in _tables(connection) if table != "unit_rows")
    query = f"SELECT {''.join(counts)}(SELECT coalesce(sum(times - 1), 0) FROM units)"
    if (count := int(connection.execute(query).fetchone()[0])) != entries:
        missing = f"{entries - count} are missing" if count < entries else f"{count - entries} too many"
        raise RunError(f"{path}: the journal is damaged: it holds {count} entries and counted {entries}; {missing}")
    check_origin(connection, path)
    return entries, every


def check_structure(connection: sqlite3.Connection, path: Path, how: str = "quick_check") -> None:
    """Refuse a journal in which a page belongs to two tables or rows: reading might never end."""
    if (problem := connection.execute(f"PRAGMA main.{how}(1)").fetchone()[0]) != "ok":
        raise RunError(f"{path}: the journal is damaged: {' '.join(str(problem).split())}")


class OldRun(RunError):
    """Raised for a run of a version that is no longer supported."""

    exit_code = 2

    def __init__(self, file: object) -> None:
        super().__init__(
            f"{file}: is of a run of Ostrom 0.1, which this version does not read: export it with Ostrom 1.0 first"
        )


def require_format(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database whose tables are not those of a released format."""
    version = connection.execute("PRAGMA main.user_version").fetchone()[0]
    if 0 < version < min(FORMATS):
        raise OldRun(path)
    if version not in FORMATS:
        raise RunError(
            f"{path}: is no journal of this version (format {version}, this one reads {min(FORMATS)} to {max(FORMATS)})"
        )
    require_schema(connection, path, [_schema_of_format(version)])


def statements_of(name: str) -> str:
    """Return the SQL statements that create some tables of a journal."""
    return files("ostrom.engine").joinpath(name).read_text()


@lru_cache(maxsize=len(FORMATS))
def _schema_of_format(number: int) -> Schema:
    return schema_of("".join(map(statements_of, FORMATS[number])))


def has_batches(connection: sqlite3.Connection) -> bool:
    """Whether a journal has the table of batches."""
    return "batches.sql" in FORMATS[connection.execute("PRAGMA user_version").fetchone()[0]]


def _acknowledged(tally: Path) -> int | None:
    """Return how many entries were acknowledged; None if the tally does not say."""
    try:
        text = read_plain(tally, MOST_TALLY).strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"{tally}: cannot be read: {error.strerror}") from None
    return int(text) if text.isdigit() and len(text) <= 20 else None


def _tables(connection: sqlite3.Connection) -> list[str]:
    """Return the tables of entries that a journal has, and the table of rows."""
    return [table for table in COLUMNS if table != "batches" or has_batches(connection)]


def _check_rows(connection: sqlite3.Connection, path: Path) -> None:
    """Verify the checksum of every row; the error names the first broken one."""
    broken, first = 0, ""
    for table in _tables(connection):
        intact = Seals(table)
        for row in connection.execute(f"SELECT {COLUMNS[table]}, seal FROM {table}"):
            if not intact(row):
                broken += 1
                first = first or f"{table}: {intact.place(row)}"
    if broken:
        raise RunError(f"{path}: the journal is damaged: {broken} of its entries changed, first {first}")


class Seals:
    """Checks rows of one table: their checksum and the types of their values."""

    def __init__(self, table: str) -> None:
        self.table, self._names = table, COLUMNS[table].split(", ")
        self._row_types: set[tuple[type, ...]] = set()

    def __call__(self, row: tuple[Any, ...]) -> bool:
        """Return whether a row's checksum and types are valid."""
        if (kinds := tuple(map(type, row))) not in self._row_types and _are_ours(self._names, kinds):
            self._row_types.add(kinds)
        return seal(row[:-1]) == row[-1] and kinds in self._row_types

    def place(self, row: tuple[Any, ...]) -> str:
        """Return words that name a row, such as ``unit 3, step 2, player 0``."""
        names = self._names[: 3 if self.table in ("answers", "calls") else 1]
        return ", ".join(f"{name} {value!r:.20}" for name, value in zip(names, row, strict=False))

    def require(self, row: tuple[Any, ...], path: Path) -> None:
        """Refuse an altered row."""
        if not self(row):
            raise RunError(f"{path}: the journal is damaged: entries changed, first {self.table}: {self.place(row)}")


def check_origin(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse rows that were not derived from the entries of the journal."""
    for (unit,) in connection.execute(
        f"SELECT unit FROM unit_rows r WHERE of <> {SEALS.format(unit='r.unit')} ORDER BY unit LIMIT 1"
    ):
        raise RunError(
            f"{path}: the rows of match {unit} were not made from its entries "
            "(ostrom check RUN says more, and with --rows makes them anew)"
        )


def _are_ours(names: list[str], kinds: tuple[type, ...]) -> bool:
    """Return whether the values of a row have the expected types; the checksum comes last."""
    for name, kind in zip([*names, "unit"], kinds, strict=True):
        own = int if name in _NUMBERS else float if name in _REALS else bytes if name in _BYTES else str
        also = type(None) if name in _MAY_MISS else own
        if kind is not own and kind is not also and not (kind is float and name.startswith("tokens")):
            return False
    return True


_CAUSES = (
    (("full", "no space"), "the disk is full; nothing acknowledged is lost: free some space and run again"),
    (("readonly", "read-only", "permission"), "cannot be written to ({})"),
    (
        ("malformed", "not a database", "disk image", "could not decode", "can't decode", "no such"),
        "the journal is damaged ({}); restore it from a copy",
    ),
    (("locked",), "another process holds the journal"),
    (("interrupted",), "the journal is damaged: a query takes more steps than its size allows"),
    (("too big",), "the journal is damaged: it holds a value that is larger than any of ours"),
)
"""Phrases in errors of SQLite or the system, and their meaning for a journal."""


def explain(path: Path, error: Exception) -> str:
    """Explain in one line what the disk or the database refused, and what to do."""
    text = " ".join(str(error).split())
    meanings = (meaning for signs, meaning in _CAUSES if any(sign in text.lower() for sign in signs))
    return f"{path}: {next(meanings, '{}').format(text)}"


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open a read-only connection to a journal that another process may be writing; invalid UTF-8 is replaced.

    The steps and bytes that its queries take together are limited by the size of the journal.
    """
    require_plain(path)
    try:
        connection, _ = open_read_only(path)
        require_format(connection, path)
    except DAMAGE as error:
        raise RunError(explain(path, error)) from None
    return connection


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a read-only connection for a block; damage is reported with the file."""
    try:
        with closing(connect_read_only(path)) as connection:
            yield connection
    except DAMAGE as error:
        raise RunError(explain(path, error)) from None


def open_read_only(path: Path) -> tuple[sqlite3.Connection, Guard]:
    """Open a database for reading; a WAL that holds entries is left as it is."""
    try:
        # A connection with mode=ro creates an empty WAL and cannot remove it; query_only avoids both.
        connection, bounds = _open_uri(path, "mode=ro" if _has_log(path) else "mode=rw")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection, bounds = open_alone(path, error)
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    return connection, bounds


def open_alone(path: Path, error: sqlite3.OperationalError) -> tuple[sqlite3.Connection, Guard]:
    """Open the database file alone where SQLite cannot create a WAL, as on a read-only file system.

    With entries in a WAL the file is not complete, so ``error`` is raised again.
    """
    if "interrupted" in str(error) or _has_log(path):
        raise error
    return _open_uri(path, "immutable=1")


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def _open_uri(path: Path, how: str) -> tuple[sqlite3.Connection, Guard]:
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True, check_same_thread=False, timeout=10)
    return connection, guard(connection, path)
