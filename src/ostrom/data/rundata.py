"""A run for analysis: its tables in Parquet, queried through DuckDB.

The tables are derived from the journal, each when something first asks for it. Beside them lies ``tables.json``, which
says how many journal entries they were made from; when the journal has grown since, they are made again before
anything is read.

The columns of the tables and their types stand here too: a run of scripted strategies makes no call, and a fresh run
has no match. Parquet keeps no columns for a table without rows, so what reads a run finds them here.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property, lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import orjson

from ostrom.data.early_looks import record_early_look
from ostrom.data.tables import (
    TABLES,
    TYPES,
    connect_duckdb,
    export_rows,
    factor_types,
    import_duckdb,
    literal,
    people_columns,
    table_names,
)
from ostrom.engine.folder import Folder, shared_heights
from ostrom.engine.plan import Unit
from ostrom.engine.rows import RULE_COLUMNS, Rows
from ostrom.games.game import Game
from ostrom.ground.errors import RunError, UnknownName, UsageError
from ostrom.ground.files import read_plain, require_regular_file, write_atomically
from ostrom.ground.version import __version__

HEAD = "run match unit seed game mechanism"
AGENT = "agent agent_id model strategy agent_memory agent_style"
MATCHES = (
    "state reason player seat role " + AGENT + " opponents rounds_played score expected_score cooperation complaints "
    "policies missed_decisions refusals facts"
)
DECISIONS = (
    "state step round player seat " + AGENT + " kind target answer action label options cooperative payoff expected "
    "probabilities p_cooperate reading invalid missed complaints note rationale copied"
)
ROUNDS = (
    "state meeting round at_table player seat " + AGENT + " what action amount cooperative payoff paid weight copied"
)
CALLS = (
    "run match id step player part try at model params reply reasoning reasoning_kind finish tokens_in "
    "tokens_out tokens_cached tokens_reasoning usd logprobs version latency source error status"
)
TOOL_CALLS = "run match step round player agent tool arguments result failed"


def names_of(folders: Sequence[Path]) -> dict[Path, str]:
    """Return unique names of runs: the last part of a folder, or the path if that is ambiguous.

    >>> list(names_of([Path("a/sweep"), Path("b/sweep"), Path("b/rest")]).values()) == ["a/sweep", "b/sweep", "rest"]
    True
    """
    last = [folder.name for folder in folders]
    return {folder: folder.name if last.count(folder.name) == 1 else folder.as_posix() for folder in folders}


def columns(table: str, factors: Mapping[str, type], more: Mapping[str, Mapping[str, type]] = {}) -> dict[str, type]:
    """Return the columns of a table with their types; ``more`` are those that people add.

    >>> list(columns("matches", {"history_length": int}))[4:8]
    ['game', 'mechanism', 'history_length', 'state']
    """
    own = more.get(table, {})
    if table == "visits":
        return dict(own)
    if table in ("calls", "tool_calls"):
        names = (CALLS if table == "calls" else TOOL_CALLS).split()
    else:
        rest = {"matches": MATCHES, "rounds": ROUNDS, "decisions": DECISIONS}[table].split()
        names = list(dict.fromkeys([*HEAD.split(), *factors, *rest]))
    types = {**TYPES, **(factors if table not in ("calls", "tool_calls") else {})}
    return {**{name: types.get(name, str) for name in names}, **own}


class Counts(NamedTuple):
    """Which rounds and decisions a figure counts."""

    copied: frozenset[bool] = frozenset({False})
    """Those that were played anew (False), those that a branch copied (True); a beginning that its matches share is
    counted once, in the first of them."""
    what: frozenset[str] = frozenset()
    """The kinds of a player's rounds (``settlement.WHATS``); empty for all."""

    def conditions(self, table: str, rows: str) -> list[str]:
        """Return SQL conditions on the rows of a table."""
        if table not in ("rounds", "decisions"):
            return []
        once = f"(copied AND match = (SELECT min(match) FROM {rows} WHERE copied))"
        parts = [text for flag, text in ((False, "NOT copied"), (True, once)) if flag in self.copied]
        kinds = [f"what IN ({', '.join(map(literal, sorted(self.what)))})"] if self.what and table == "rounds" else []
        return [f"({' OR '.join(parts) or 'false'})", *kinds]


FRESHNESS = "tables.json"
SQL_TYPES: Mapping[type, str] = {int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", str: "VARCHAR"}
BATCH = 2000
"""The number of traces in memory at a time."""
MOST_MEMORY, SLOWEST = "2GB", 60.0
"""The limits of a condition on matches: memory, and seconds."""

TEXTS: Mapping[str, str] = {
    "trace": "concat_ws(chr(10) || chr(10), reasoning, reply)",
    "reply": "reply",
    "reasoning": "reasoning",
}
"""Texts of ``traces``: the reply with the reasoning before it, or one of both."""


class RunData:
    """What analysis asks with SQL: a run as the views ``matches``, ``rounds``, ``decisions``, ``calls`` and ``traces``
    in DuckDB.

    ``traces`` is every reply that arrived beside the columns of its match and player: no failed tries, and no
    forced endings (parts ``*.end``, in which a model only completes its own reply with a label).
    """

    def __init__(
        self,
        folder: Path,
        manifest: Mapping[str, Any],
        *,
        levels: Mapping[str, Sequence[Any]],
        types: Mapping[str, type],
        planned: int,
        rows: Mapping[str, int],
        units: Callable[[int], Unit] | None = None,
        more: Mapping[str, Mapping[str, type]] = {},
        entries: int = 0,
        so_far: str = "",
        playing: bool = False,
        only: str = "",
        counts: Counts | None = None,
    ) -> None:
        self.folder, self.manifest, self.name = folder, dict(manifest), folder.name
        self.levels: dict[str, list[Any]] = {name: list(of) for name, of in levels.items()}
        """The levels of every factor, in the order of the study."""
        self.planned = planned
        """The number of units of the study."""
        self.twins: dict[int, int] | None = None
        self.failed: list[dict[str, Any]] | None = None
        self.agent_kinds: dict[str, bool] | None = None
        """The agents, once queried; True for a model or a person, False for a script."""
        self.undivided: RunData = self
        """The run that this is a part of, or itself."""
        self.rows = rows
        """The number of rows of each table; a table is made when its number is first requested."""
        self.entries = entries
        """The number of journal entries when the tables were made."""
        self.so_far, self.playing = so_far, playing
        """The progress of an unfinished run in words (empty if finished), and whether it is being played."""
        self._types = dict(types)
        self._more = more
        """Columns that people add to the tables."""
        self._units = units and lru_cache(1024)(units)  # analysis asks for the same ones again and again
        self._only = only
        """An SQL condition on matches; all tables are restricted to those."""
        self.counts = counts
        """Which rounds and decisions the tables hold; None for all."""
        self._parts: dict[Any, RunData] = {}
        self._seen: set[str] = set()
        """Views of the connection."""
        self.last_read: tuple[Any, Any] | None = None
        """The last query and its values."""

    @property
    def factors(self) -> list[str]:
        """The names of the study's factors, in order."""
        return list(self.levels)

    @property
    def study(self) -> dict[str, Any]:
        """The study as resolved."""
        return dict(self.manifest["study"])

    def game(self, match: int) -> Game:
        """Return the game of a match."""
        return self.unit(match).game

    def unit(self, match: int) -> Unit:
        """Return a unit by its number (the column ``match``): game, mechanism and players."""
        if self._units is None:
            raise UsageError(f"{self.name}: its matches are not at hand, only its tables")
        return self._units(match)

    def filtered(self, only: str) -> RunData:
        """Return the part of a run with the matches that meet an SQL condition.

        The part is closed together with this run.
        """
        return self._part(only, self.counts)

    def counting(self, counts: Counts | None = None) -> RunData:
        """The same run with nothing but the rounds and decisions that count: by default those that were played anew,
        and not those that a branch copied. It is closed with this one."""
        if counts is None and (self.counts is not None or "parent" not in self.manifest):
            return self
        return self._part(self._only, counts or Counts())

    def _part(self, only: str, counts: Counts | None) -> RunData:
        if (only, counts) not in self._parts:
            self._parts[only, counts] = RunData(
                self.folder, self.manifest, levels=self.levels, types=self._types, planned=self.planned,
                rows=self.rows, units=self._units, more=self._more, entries=self.entries, so_far=self.so_far,
                playing=self.playing, only=only, counts=counts,
            )  # fmt: skip
            self._parts[only, counts].undivided = self.undivided
        return self._parts[only, counts]

    def parquet(self, table: str) -> Path:
        """Return the path of a table, which is made if missing."""
        self.rows[table]
        return self.folder / f"{table}.parquet"

    @cached_property
    def connection(self) -> Any:
        """Return the DuckDB connection, opened on first use; ``views`` adds the views of a query.

        One thread, and joins that stream their left side: rows then keep the order of the files, so the same
        run gives the same figures to the bit, and texts never pile up in memory.
        """
        made = connect_duckdb()
        made.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'").fetchall()
        return made

    def views(self, sql: str) -> Any:
        """Return the connection with a view for every table in a query."""
        words = set(re.findall(r"\w+", sql.lower()))
        if "rounds" not in self.rows and re.search(r"\b(from|join)\s+rounds\b", sql, re.IGNORECASE):
            raise UsageError(f"{self.name}: has no table rounds: a version before 2.0 shared it; share the run anew")
        if "traces" in words:
            words |= {"calls", "matches"}
        for name in [*self.rows, "traces"]:
            if name in words and name not in self._seen:
                self._view(name)
                self._seen.add(name)
        return self.connection

    def _view(self, name: str) -> None:
        if name == "traces":
            own = ("run", "match", "player", *columns("calls", {}))
            played = [c for c in columns("matches", self._types, self._more) if c not in own]
            picked = ", ".join(f"m.{quoted(c)}" for c in played)
            self.connection.execute(
                f"CREATE VIEW traces AS SELECT c.*, {picked}, {TEXTS['trace']} AS trace "
                "FROM calls c JOIN matches m ON c.match = m.match AND c.player = m.player "
                "WHERE c.error IS NULL AND c.part NOT LIKE '%.end'"
            ).fetchall()
            return
        try:
            self.connection.execute(f"CREATE VIEW {name} AS {self._source(name)}").fetchall()
        except import_duckdb().Error as error:
            why, path = " ".join(str(error).split())[:200], self.parquet(name)
            raise RunError(f"{path}: cannot be read ({why}); remove it: it is made again") from None

    def _source(self, name: str) -> str:
        if self.rows[name]:
            own = f"read_parquet({literal(str(self.parquet(name)))})"
            conditions = [] if self.counts is None else self.counts.conditions(name, own)
            if self._only and name != "visits":
                matches = f"read_parquet({literal(str(self.parquet('matches')))})"
                conditions.append(f"match IN (SELECT match FROM {matches} WHERE {self._only})")
            return f"SELECT * FROM {own}" + (f" WHERE {' AND '.join(conditions)}" if conditions else "")
        empty = (f"NULL::{SQL_TYPES[t]} AS {quoted(c)}" for c, t in columns(name, self._types, self._more).items())
        return f"SELECT {', '.join(empty)} WHERE false"

    def columns(self, table: str) -> list[str]:
        """Return a table's columns; those of rounds are known before it is made."""
        if table == "rounds":
            return list(columns("rounds", self._types, self._more))
        return [name for name, *_ in self._run(f"DESCRIBE {quoted(table)}", ())[1]]

    def need(self, table: str, names: Iterable[str]) -> None:
        """Refuse a missing column."""
        UnknownName.refuse(f"column of {table}", names, self.columns(table))

    def query(self, sql: str, *params: Any) -> Any:
        """Return the result of an SQL query as a polars DataFrame; ``?`` is a parameter.

        Meant for aggregates: the answer is in memory as a whole.
        """
        import polars as pl

        described, rows = self._run(sql, params)
        kinds = {
            "BIGINT": pl.Int64, "INTEGER": pl.Int64, "HUGEINT": pl.Int64, "UBIGINT": pl.Int64,
            "DOUBLE": pl.Float64, "FLOAT": pl.Float64, "VARCHAR": pl.String,
            "BOOLEAN": pl.Boolean,
        }  # fmt: skip
        return pl.DataFrame(
            rows, schema=[(name, kinds.get(kind)) for name, kind in described], orient="row", infer_schema_length=None
        )

    def records(self, sql: str, *params: Any) -> list[dict[str, Any]]:
        """Return the result of an SQL query as plain rows."""
        described, rows = self._run(sql, params)
        names = [name for name, _ in described]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _run(self, sql: str, params: Sequence[Any]) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
        with closing(self.views(sql).cursor()) as cursor:
            cursor.execute(sql, list(params))
            return [(column[0], str(column[1])) for column in cursor.description], cursor.fetchall()

    def matching_rows(self, condition: str) -> list[dict[str, Any]]:
        """Return the rows of matches that meet an SQL condition, in order.

        A study file that somebody sent may hold the condition: it is asked in a database that can read the table
        of matches, no other file, and cannot write; what takes very long or very much memory is refused.
        """
        duckdb, path = import_duckdb(), self.parquet("matches")
        with connect_duckdb(memory_limit=MOST_MEMORY, temp_directory="") as connection:
            connection.execute(f"SET allowed_paths = [{literal(str(path))}]")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            connection.execute(f"CREATE VIEW matches AS {self._source('matches')}")
            watch = threading.Timer(SLOWEST, connection.interrupt)
            watch.start()
            try:
                # Parsed as one expression: a text that closes a parenthesis cannot add rows.
                rows = connection.view("matches").filter(condition).order("match, player")
                return [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()]
            except duckdb.Error as problem:
                text = " ".join(str(problem).partition("LINE ")[0].split())
                why = f"takes more than {SLOWEST:g} s" if isinstance(problem, duckdb.InterruptException) else text
                raise UsageError(f"where {condition!r}: {why}") from None
            finally:
                watch.cancel()

    def traces(
        self, *keys: str, where: str = "", params: Sequence[Any] = (), text: str = "trace"
    ) -> Iterator[tuple[tuple[Any, ...], str]]:
        """Yield every trace as (key, text) in the order of matches; the key has the named columns.

        ``where`` is a condition in SQL on the view ``traces``; without names the key is the call's id.
        """
        if text not in TEXTS:
            raise UsageError(f"text {text!r} (allowed: {', '.join(TEXTS)})")
        named = keys or ("id",)
        self.need("traces", named)
        wanted = ", ".join(quoted(key) for key in named)
        condition = f"{TEXTS[text]} IS NOT NULL" + (f" AND ({where})" if where else "")
        with closing(self.views("traces").cursor()) as cursor:
            cursor.execute(f"SELECT {wanted}, {TEXTS[text]} FROM traces WHERE {condition}", list(params))
            while batch := cursor.fetchmany(BATCH):
                yield from ((row[:-1], row[-1]) for row in batch)

    def keep_result(self, text: str) -> None:
        """Store the main result beside the tables, for lists of runs."""
        recorded = _recorded(self.folder)
        if recorded.get("entries") == self.entries and recorded.get("result") != text:
            with suppress(RunError):  # without write access the list shows no result
                _record(self.folder, {**recorded, "result": text})

    def close(self) -> None:
        """Close the connection, if one was opened, and let go of what was read."""
        self.last_read = None
        while self._parts:
            self._parts.popitem()[1].close()
        if "connection" in self.__dict__:
            self.__dict__.pop("connection").close()
            self._seen.clear()

    def __enter__(self) -> RunData:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def run_data(
    rows: Rows, folder: Path, manifest: Mapping[str, Any], *, stale: bool = False, look: bool = True
) -> RunData:
    """Return a run for analysis; tables are rebuilt if the journal has grown, unless ``stale`` is allowed.

    Of a run that is being played all tables tell of the moment of this call, whenever each of them is made. A ``look``
    at a run that is bound to a registration and not complete is recorded.
    """
    import_duckdb()
    types, more = factor_types(rows), people_columns(rows)
    tables = table_names(rows)
    levels = {
        factor.name: [None if level.label is None else types[factor.name](level.label) for level in factor.levels]
        for factor in rows.plan.factors
    }
    if (heights := shared_heights(folder, manifest)) is not None:
        plan = rows.plan
        shared = RunData(
            folder, manifest, levels=levels, types=types, rows=heights, planned=plan.planned, units=plan.unit
        )
        states = {row["match"]: row["state"] for row in shared.records("SELECT DISTINCT match, state FROM matches")}
        shared.so_far = plan.so_far(states, playing=False)
        return shared
    rows.journal.begin_snapshot()
    if look:
        record_early_look(folder, rows, manifest)
    state: dict[str, Any] = {
        "entries": rows.journal.entries,
        "ostrom": __version__,
        "columns": {name: list(columns(name, types, more)) for name in tables},
    }
    if rows.has_rule_games:
        state["columns"]["decisions"] += list(RULE_COLUMNS)
    recorded = _recorded(folder)
    if stale and type(recorded.get("entries")) is int:
        state["entries"] = recorded["entries"]
    if {key: recorded.get(key) for key in state} != state:
        _forget(folder)
        _record(folder, {**state, "rows": {}})
    states, playing = rows.journal.states(), Folder(folder).being_played
    return RunData(
        folder, manifest, levels=levels, types=types, rows=RowCounts(rows, folder, tables, state),
        planned=rows.plan.played(states).planned if more else rows.plan.planned,
        units=rows.plan.unit, more=more, entries=state["entries"],
        so_far=rows.plan.so_far(states, playing=playing), playing=playing,
    )  # fmt: skip


def so_far(runs: Sequence[RunData]) -> str:
    """Describe the progress of unfinished runs; empty if all are finished."""
    names = names_of([run.folder for run in runs]) if len(runs) > 1 else {}
    return "; ".join(f"{names[run.folder]}: {run.so_far}" if names else run.so_far for run in runs if run.so_far)


class RowCounts(Mapping[str, int]):
    """The number of rows of each table; a table is made when its number is first requested."""

    def __init__(self, rows: Rows, folder: Path, tables: Sequence[str], state: Mapping[str, Any]) -> None:
        self._rows, self._folder, self._tables, self._state = rows, folder, tables, state

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __contains__(self, table: object) -> bool:
        return table in self._tables

    def __getitem__(self, table: str) -> int:
        if table not in self._tables:
            raise KeyError(table)
        recorded = _recorded(self._folder)
        heights = recorded["rows"] if all(recorded.get(key) == self._state[key] for key in self._state) else {}
        if type(heights.get(table)) is not int or not _is_there(self._folder, table):
            with self._open() as rows:
                _, heights[table] = export_rows(rows, "parquet", self._folder, tables=[table])[table]
            _record(self._folder, {**recorded, **self._state, "rows": heights})
        return int(heights[table])

    @contextmanager
    def _open(self) -> Iterator[Rows]:
        """Open the journal for its rows: a table may be requested after the run was closed."""
        rows = self._rows
        if not rows.journal.closed:
            yield rows
            return
        with rows.journal.reopened() as journal:
            yield Rows(rows.plan, journal, rows.run)


def _is_there(folder: Path, table: str) -> bool:
    try:
        return require_regular_file(folder / f"{table}.parquet").exists()
    except RunError:  # a symbolic link is replaced by the table
        return False


def _forget(folder: Path) -> None:
    """Remove outdated tables, so that readers of the folder do not take them for the run."""
    for table in (*TABLES, "visits"):
        with suppress(OSError):
            (folder / f"{table}.parquet").unlink(missing_ok=True)


def _recorded(folder: Path) -> dict[str, Any]:
    """Return the content of ``tables.json``; empty if missing or unreadable, so that tables are rebuilt."""
    try:
        data = orjson.loads(read_plain(folder / FRESHNESS))
    except (OSError, RunError, orjson.JSONDecodeError):
        return {}
    return data if isinstance(data, dict) and isinstance(data.get("rows"), dict) else {}


def recorded_answer(folder: Path, entries: int) -> str:
    """Return the stored main result; empty without one, or if the journal has grown since."""
    data = _recorded(folder)
    return str(data.get("result") or "") if data.get("entries") == entries else ""


def _record(folder: Path, data: Mapping[str, Any]) -> None:
    path = folder / FRESHNESS
    try:
        write_atomically(path, orjson.dumps(data, option=orjson.OPT_INDENT_2))
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None


def quoted(name: str) -> str:
    """A column or table name for SQL.

    >>> quoted('a "k" b')
    '"a ""k"" b"'
    """
    return '"' + name.replace('"', '""') + '"'
