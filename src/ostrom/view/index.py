"""The index of a run: what its pages need of a journal of any size, in a database in the user's cache folder.

It is derived: deleted at any time, written by ``index_writer`` alone, in a process of its own, because replaying half a
million decisions would hold up the pages; that process gives way to others (nice) and ends with the server. A page
opens a ``RunIndex``, which only reads, and says how far it has come (``progress``); what is not indexed yet is missing,
never wrong. None is kept in the folder of a run: the folder may be a stranger's, and so would be the index in it.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from ostrom.engine.folder import Folder
from ostrom.engine.integrity import DAMAGE, connect_read_only
from ostrom.engine.shards import CALLS_APART
from ostrom.ground.errors import RunError, UnknownName, UsageError
from ostrom.ground.files import cache_folder, plain

VERSION = 4
"""Goes up when the tables or what is put into them change; an index of another version is made anew."""

SORTS = (
    "match", "cell", "state", "outcome", "rounds", "score", "cooperation", "first_defection", "complaints", "policies",
    "calls", "errors", "tokens_out", "usd",
)  # fmt: skip
"""The columns that matches can be sorted by."""
NUMBERS = tuple(name for name in SORTS if name not in ("cell", "state", "outcome"))
"""The columns of numbers, which can be bounded."""
PLAYERS = {"agent": "agents", "role": "roles", "model": "models"}
"""Filters on single players, and the column of matches that lists their values."""
MOST_ROWS = 500


@dataclass(frozen=True)
class IndexProgress:
    """The progress of an index."""

    matches: int = 0
    of_matches: int = 0
    calls: int = 0
    of_calls: int = 0
    problem: str | None = None
    """Why it cannot go on, in one line."""
    once: bool = False
    """Whether the index was complete before: a new one lists no matches and no calls yet."""

    @property
    def complete(self) -> bool:
        """Whether everything that was journaled when it was last updated is in it."""
        counted = self.matches >= self.of_matches and self.calls >= self.of_calls
        return self.once and counted and self.problem is None


@dataclass(frozen=True)
class MatchFilters:
    """Which matches to show; empty: all of them."""

    levels: Mapping[str, str] = field(default_factory=dict)
    """Factor: level, as text."""
    cell: int | None = None
    agent: str | None = None
    role: str | None = None
    model: str | None = None
    """Agent, role and model must be those of one and the same player."""
    state: str | None = None
    outcome: str | None = None
    reading: str | None = None
    """A reading that occurs in the match."""
    retries: bool = False
    """Only matches with replies that could not be read."""
    errors: bool = False
    """Only matches with calls that failed."""
    kind: str | None = None
    game: str | None = None
    mechanism: str | None = None
    least: Mapping[str, float] = field(default_factory=dict)
    """The least value of columns of numbers."""
    most: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class MatchPage:
    """Some rows, and where the next ones begin."""

    rows: list[dict[str, Any]]
    after: str | None
    """The ``after`` argument for the next page; None if there is none."""


class RunIndex:
    """The index of a run, opened for reading. Open one per request: it takes a millisecond."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            plain(path)
            self.connection = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False, timeout=5
            )
            self.connection.execute("PRAGMA trusted_schema=OFF")
            self.connection.text_factory = partial(str, encoding="utf-8", errors="replace")
            self._meta = dict(self.connection.execute("SELECT key, value FROM meta"))
            if self._meta.get("version") != VERSION or schema_of(self.connection) != own_schema():
                raise RunError(f"{path}: is an index of another version (delete it: it is made anew)")
        except DAMAGE as error:
            raise RunError(f"{path}: the index cannot be read ({' '.join(str(error).split())})") from None

    def __enter__(self) -> RunIndex:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.connection.close()

    @property
    def progress(self) -> IndexProgress:
        """The progress of this index."""
        problem = self._meta.get("problem")
        calls, of_calls = (
            sum(
                self._number(place(name, part), part * CALLS_APART) - part * CALLS_APART
                for part in range(self.parts)
            )
            for name in ("calls", "of_calls")
        )
        return IndexProgress(
            self._number("matches"), self._number("of_matches"), calls, of_calls,
            None if problem is None else str(problem), self.entries >= 0,
        )  # fmt: skip

    def _number(self, name: str, otherwise: int = 0) -> int:
        found = self._meta.get(name)
        return found if type(found) is int else otherwise

    @property
    def entries(self) -> int:
        """How many entries the journal had when it was last brought up to date."""
        return self._number("entries", -1)

    @property
    def folder(self) -> Path | None:
        """The folder of its run."""
        found = self._meta.get("folder")
        return Path(os.fsdecode(found)) if isinstance(found, bytes) else None

    @property
    def parts(self) -> int:
        """From how many journals it is made: those of the shards of a joined run."""
        return self._number("parts", 1)

    def is_of(self, folder: Folder) -> bool:
        """Whether it was made from the journal of this run, or from those of its shards, and is up to date."""
        entries = 0
        try:
            for number, part in enumerate(folder.parts):
                with closing(connect_read_only(part.journal)) as connection:
                    found = connection.execute("SELECT value FROM meta WHERE key='entries'").fetchone()
                    through = self._meta.get(place("calls", number))
                    last = connection.execute("SELECT seal FROM calls WHERE id=?", (through,)).fetchone()
                if found is None or (last is not None and last[0] != self._meta.get(place("seal", number))):
                    return False
                if last is None and (self._number(place("calls", number)) > number * CALLS_APART):
                    return False
                entries += found[0]
        except (RunError, *DAMAGE):
            return False
        return number + 1 == self.parts and entries == self.entries

    def cells(self) -> dict[int, dict[str, Any]]:
        """The cells that occur, by number, each as a mapping from factors to levels."""
        return {number: orjson.loads(levels) for number, levels in self._all("SELECT id, levels FROM cells")}

    def players(self, what: str) -> list[str]:
        """The agents, roles or models that occur."""
        column = PLAYERS[what]
        query = f"SELECT DISTINCT p.value FROM matches, json_each({column}) p WHERE {column} IS NOT NULL ORDER BY 1"
        return [name for (name,) in self._all(query) if name is not None]

    def models_tell_agents(self) -> bool:
        """Whether every agent that is a model has one of its own: a choice of models then is one of agents."""
        query = (
            "SELECT DISTINCT a.value, m.value FROM matches, json_each(agents) a, json_each(models) m "
            "WHERE a.key = m.key AND agents IS NOT NULL AND models IS NOT NULL"
        )
        pairs = self._all(query)
        models = {agent for agent, model in pairs if model is not None}
        own = [pair for pair in pairs if pair[0] in models]
        return len(own) == len(models) == len({model for _, model in own})

    def known(self, column: str) -> list[Any]:
        """The values of a column of matches that occur: state, outcome, kind."""
        if column not in ("state", "outcome", "kind"):
            raise UnknownName("column", column, ["state", "outcome", "kind"])
        return [v for (v,) in self._all(f"SELECT DISTINCT {column} FROM matches ORDER BY 1") if v is not None]

    def readings(self) -> dict[str, int]:
        """How often every reading occurs."""
        query = "SELECT r.key, sum(r.value) FROM matches, json_each(readings) r WHERE readings IS NOT NULL GROUP BY 1"
        return dict(self._all(query))

    def count(self, filters: MatchFilters | None = None) -> int:
        """How many matches the filters leave."""
        where, values = self._where(filters or MatchFilters())
        return int(self._all(f"SELECT count(*) FROM matches WHERE {where}", values)[0][0])

    def matches(
        self,
        filters: MatchFilters | None = None,
        *,
        sort: str = "match",
        descending: bool = False,
        after: str | None = None,
        limit: int = 200,
    ) -> MatchPage:
        """Matches in order, a page at a time; ``after`` is what the page before gave."""
        if sort not in SORTS:
            raise UnknownName("column", sort, SORTS)
        where, values = self._where(filters or MatchFilters())
        if after is not None:
            more, bound = _beyond(sort, descending, after)
            where, values = f"{where} AND {more}", [*values, *bound]
        way, limit = "DESC" if descending else "ASC", max(1, min(limit, MOST_ROWS))
        order = f"match {way}" if sort == "match" else f"{sort} {way}, match {way}"
        rows = self._matches(
            f"SELECT * FROM matches WHERE {where} ORDER BY {order} LIMIT {limit + 1}", values
        )
        more_rows, rows = len(rows) > limit, rows[:limit]
        return MatchPage(
            rows, orjson.dumps([rows[-1][sort], rows[-1]["match"]]).decode() if more_rows else None
        )

    def match(self, number: int) -> dict[str, Any] | None:
        """One match."""
        return next(iter(self._matches("SELECT * FROM matches WHERE match=?", [number])), None)

    def beside(self, number: int) -> tuple[int | None, int | None]:
        """The matches before and after one."""
        query = "SELECT (SELECT max(match) FROM matches WHERE match<?), (SELECT min(match) FROM matches WHERE match>?)"
        before, then = self._all(query, [number, number])[0]
        return before, then

    def _matches(self, query: str, values: Sequence[Any]) -> list[dict[str, Any]]:
        cells = self.cells()
        cursor = self._execute(query, values)
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
        for row in rows:
            for name in ("agents", "scores", "strips", "readings"):
                row[name] = None if row[name] is None else orjson.loads(row[name])
            row["levels"] = cells.get(row["cell"], {})
        return rows

    def _where(self, filters: MatchFilters) -> tuple[str, list[Any]]:
        for column in (*filters.least, *filters.most):
            if column not in NUMBERS:
                raise UnknownName("column of numbers", column, NUMBERS)
        names = ("cell", "state", "outcome", "kind", "game", "mechanism")
        player = {column: getattr(filters, name) for name, column in PLAYERS.items()}
        given = {column: value for column, value in player.items() if value is not None}
        fits = " AND ".join(f"json_extract({column}, p.fullkey)=?" for column in given)
        cells = ", ".join(map(str, self.cells_with(filters.levels)))
        asked: list[tuple[bool, str, list[Any]]] = [
            (True, "state IS NOT NULL", []),
            *((getattr(filters, name) is not None, f"{name}=?", [getattr(filters, name)]) for name in names),
            (bool(filters.levels), f"cell IN ({cells})", []),
            (bool(given), f"EXISTS (SELECT 1 FROM json_each(agents) p WHERE {fits})", [*given.values()]),
            (
                filters.reading is not None,
                "EXISTS (SELECT 1 FROM json_each(readings) r WHERE r.key=?)",
                [filters.reading],
            ),
            (filters.retries, "complaints > 0", []),
            (filters.errors, "errors > 0", []),
            *((True, f"{column} >= ?", [bound]) for column, bound in filters.least.items()),
            *((True, f"{column} <= ?", [bound]) for column, bound in filters.most.items()),
        ]
        values = [value for applies, _, some in asked if applies for value in some]
        return " AND ".join(condition for applies, condition, _ in asked if applies), values

    def cells_with(self, levels: Mapping[str, str]) -> list[int]:
        """The cells in which every factor has the level that is named."""
        return [
            number
            for number, cell in self.cells().items()
            if all(name in cell and str(cell[name]) == level for name, level in levels.items())
        ]

    def _execute(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        try:
            return self.connection.execute(query, values)
        except DAMAGE as error:
            raise RunError(
                f"{self.path}: the index cannot be read ({' '.join(str(error).split())}); delete it: it is made anew"
            ) from None

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._execute(query, values).fetchall()


def _beyond(sort: str, descending: bool, after: str) -> tuple[str, list[Any]]:
    """The condition for what comes after a row; empty values come first, or last in descending order."""
    try:
        value, match = orjson.loads(after)
        if type(match) is not int or not isinstance(value, int | float | str | None):
            raise ValueError
        if any(isinstance(number, int) and abs(number) >= 2**63 for number in (value, match)):
            raise ValueError
    except (ValueError, TypeError):  # also what orjson raises
        raise UsageError(f"page {after[:60]!r}: is no place in this list") from None
    sign = "<" if descending else ">"
    if sort == "match":
        return f"match {sign} ?", [match]
    if value is None:
        rest = f"({sort} IS NULL AND match {sign} ?)"
        return (rest if descending else f"({rest} OR {sort} IS NOT NULL)"), [match]
    inside = f"({sort} {sign}= ? AND ({sort} {sign} ? OR match {sign} ?))"
    return (f"({inside} OR {sort} IS NULL)" if descending else inside), [value, value, match]


def place(name: str, part: int) -> str:
    """The name under which an index keeps something about one of the journals that it is made from."""
    return name if part == 0 else f"{name} {part}"


def index_path(folder: Path) -> Path:
    """Where the index of a run lies."""
    place = blake2b(os.fsencode(folder.resolve()), digest_size=16).hexdigest()
    return cache_folder("view") / f"{place}.db"


def forget_gone() -> None:
    """Remove the indexes of runs that are no longer where they were: their words should go with them."""
    for path in cache_folder("view").glob("*.db"):
        with suppress(RunError, OSError), RunIndex(path) as index:
            if index.folder is not None and not index.folder.exists():
                remove(path)


def remove(path: Path) -> None:
    """Remove an index."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def schema_of(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """The tables of an index as they were made; what SQLite adds to a full-text index is left out."""
    query = (
        "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT GLOB 'words_*' "
        "AND name NOT GLOB 'sqlite_*' ORDER BY name"
    )
    return [(str(name), str(sql)) for name, sql in connection.execute(query)]


def schema_text() -> str:
    """The tables of an index, in SQL."""
    return files("ostrom.view").joinpath("index.sql").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def own_schema() -> list[tuple[str, str]]:
    """The tables that an index of this version has; a file that has others did not come from here."""
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(schema_text())
        return schema_of(made)


AGAIN = 2.0
"""Seconds before an indexer that has ended is started once more."""


class Indexers:
    """Starts indexers, and opens their indexes."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._running: dict[Path, tuple[subprocess.Popen[bytes], threading.Thread]] = {}
        self._begun: dict[Path, float] = {}
        self._problems: dict[Path, str] = {}
        self._spare: tempfile.TemporaryDirectory[str] | None = None
        forget_gone()

    @contextmanager
    def index(self, folder: Folder) -> Iterator[RunIndex | None]:
        """The index of a run as far as it has come; None where there is none yet. It is brought up to date."""
        where = self.path(folder)
        made: RunIndex | None = None
        with suppress(RunError):  # another version, or damaged: it is made anew
            made = RunIndex(where) if where.exists() else None
        if made is None or not made.is_of(folder) or not made.progress.complete:
            self.start(folder)
        with made or nullcontext() as index:
            yield index

    def problem(self, folder: Folder) -> str | None:
        """Why there is no index, in one line."""
        return self._problems.get(folder.path)

    def path(self, folder: Folder) -> Path:
        """Where the index of a run lies."""
        there = index_path(folder.path)
        try:
            there.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.access(there.parent, os.W_OK):
                return there
        except OSError:
            pass
        with self._guard:
            if self._spare is None:
                self._spare = tempfile.TemporaryDirectory(prefix="ostrom-view-")
            return Path(self._spare.name) / there.name

    def start(self, folder: Folder) -> None:
        """Start the indexer of a run, unless it is under way or has just ended."""
        where = self.path(folder)
        with self._guard:
            if folder.path in self._running:
                return
            if time.monotonic() - self._begun.get(folder.path, -AGAIN) < AGAIN:
                return
            self._begun[folder.path] = time.monotonic()
            child = subprocess.Popen(
                [sys.executable, "-m", "ostrom.view.index_writer", str(folder.path), str(where)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
            ending = threading.Thread(target=self._await, args=(folder.path, child), daemon=True)
            self._running[folder.path] = child, ending
            ending.start()

    def _await(self, path: Path, child: subprocess.Popen[bytes]) -> None:
        """Wait for an indexer, so that it does not stay as a defunct process, and keep the last line it said."""
        line = child.communicate()[1].decode(errors="replace").strip().rpartition("\n")[2][:500]
        with self._guard:
            self._running.pop(path, None)
            self._problems.pop(path, None)
            if child.returncode and line:
                self._problems[path] = line

    def close(self) -> None:
        """Terminate all indexers and wait for them; the parts of indexes made so far are kept."""
        with self._guard:
            running = list(self._running.values())
        for child, _ in running:
            child.terminate()
        for _, ending in running:
            ending.join()
        if self._spare is not None:
            self._spare.cleanup()
