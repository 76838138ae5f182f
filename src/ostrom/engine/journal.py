"""The journal: every call and every answer, durable before it takes effect.

Beside the database lies a tally: the number of entries that have been acknowledged. A journal that comes
back with fewer entries (a lost write-ahead log, a restored copy), or with other ones, is refused (see
``integrity``): it is never silently shorter. The entries and the thread that writes them are in ``entries``.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Self

import orjson

from ostrom.answers import Answer
from ostrom.engine.entries import (
    ANSWER,
    BATCH,
    CALL,
    CALL_NAMES,
    PLAY,
    QUESTION,
    UNIT,
    UNREADABLE,
    CallRecord,
    Journaled,
    JournaledCall,
    Packages,
    Place,
    Row,
    UnitRecord,
    Writer,
    answer_columns,
    draw_units,
    dump,
    load,
    read_package,
    reply_of,
    resolve_prompt,
    shaped,
)
from ostrom.engine.integrity import (
    COLUMNS,
    DAMAGE,
    FORMAT,
    FORMATS,
    Guard,
    Seals,
    check,
    check_structure,
    explain,
    guard,
    has_batches,
    open_alone,
    open_read_only,
    remove_limits,
    require_format,
    require_plain,
    statements_of,
)
from ostrom.ground.errors import RunError
from ostrom.ground.values import grouped
from ostrom.ground.version import __version__
from ostrom.models.base import Reply, Usage

MOST_AT_ONCE = 20_000
"""The most entries for which all checksums are verified on opening; in larger journals, when read."""


class Journal:
    """The database of one run. Open it for reading, or ``start`` it inside an event loop for writing.

    ``identity`` is the identity of the study: a new journal stores it, and a journal that stores another one is
    refused. ``Folder.open_journal`` passes it; only a journal on its own, as in a test, has none.

    With ``checked=False`` it is opened at once, whatever its size, and nothing can be written: the caller checks
    its integrity at another time (``integrity.check``) or shows its content unverified. Calls are numbered from
    ``calls_before`` + 1.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        identity: str | None = None,
        checked: bool = True,
        calls_before: int = 0,
    ) -> None:
        self._under_way = 0
        """The number of queries whose rows are being read."""
        self.path, self._calls_before = path, calls_before
        self.changed_packages: Sequence[str] = ()
        """Parts whose package changed since the run was played, in words."""
        self.tally_path = path.with_name(path.name + ".tally")
        require_plain(path)
        if not create and not path.exists():
            raise RunError(f"{path}: there is no journal")
        try:
            self._guard: Guard | None = None
            if checked:
                self._read = self._connect() if create else self._connect_to_read()
            else:
                self._read, self._guard = open_read_only(path)
        except DAMAGE as error:
            raise RunError(explain(path, error)) from None
        try:
            self.lazily_verified = False
            """Whether checksums are verified when entries are read, because all at once would take too long."""
            self._entries = self._checked(create, identity, checked)
            self._questions: dict[str, int] = {text: number for number, text, _ in self._entries_of("questions")}
        except BaseException as error:
            self._read.close()
            if isinstance(error, DAMAGE):
                raise RunError(explain(path, error)) from None
            raise
        self._question_texts = {number: text for text, number in self._questions.items()}
        self.closed = False
        """Whether the journal is closed."""
        self._writer: Writer | None = None
        self._refused: dict[int, dict[str, int]] = {}
        """Declined calls by unit and player, of units that have not ended."""
        self._texts: dict[int, tuple[Answer, Row]] = {}
        self._package = Packages(self._packed)

    def _check_identity(self, identity: str | None) -> None:
        meta = dict(self._read.execute("SELECT key, value FROM meta WHERE key IN ('study', 'ostrom')"))
        self.versions: list[str] = [v for v in str(meta.get("ostrom") or "").split(" ") if v]
        """The versions of the package that wrote to the journal, oldest first."""
        if identity is not None and meta.get("study") != identity:
            self._read.close()
            raise RunError(
                f"{self.path}: belongs to another study than run.json beside it "
                "(put back the run.json or the journal.db that belongs here)"
            )

    @property
    def entries(self) -> int:
        """How many entries the journal holds."""
        return self._entries if self._writer is None else self._writer.entries

    def _connect(self) -> sqlite3.Connection:
        """Open a connection that can write."""
        return self._opened("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", reading=False)

    def _connect_to_read(self) -> sqlite3.Connection:
        try:
            return self._opened("SELECT count(*) FROM sqlite_master", reading=True)
        except sqlite3.OperationalError as error:
            return open_alone(self.path, error)[0]

    def _opened(self, *statements: str, reading: bool) -> sqlite3.Connection:
        new = not self.path.exists() or not self.path.stat().st_size
        connection = sqlite3.connect(self.path, check_same_thread=False, timeout=10)
        try:
            guard(connection, self.path, reading=reading)
            # A new database switches to WAL without a rollback journal, which would be refused after a crash.
            for statement in (*(["PRAGMA journal_mode=MEMORY"] if new else []), *statements):
                connection.execute(statement).fetchone()
        except BaseException:
            connection.close()
            raise
        return connection

    def _stated(self) -> int:
        (entries,) = next(self._rows("SELECT value FROM meta WHERE key='entries'"), (0,))
        return entries if type(entries) is int else 0

    def _checked(self, create: bool, identity: str | None, checked: bool) -> int:
        """Check the journal, or its format and study alone; return its number of entries. A new one gets its tables."""
        if not checked:
            require_format(self._read, self.path)
            self._check_identity(identity)
            return self._stated()
        if create and not self._read.execute("SELECT count(*) FROM sqlite_master WHERE name='meta'").fetchone()[0]:
            # One transaction: a process killed here leaves an empty file, not a partial schema.
            schema = "".join(map(statements_of, FORMATS[FORMAT]))
            meta = (
                f"INSERT INTO meta VALUES ('entries', 0), ('closed', 1), ('study', '{identity or ''}'), "
                f"('ostrom', '{__version__}');\nPRAGMA user_version={FORMAT};"
            )
            self._read.executescript(f"BEGIN IMMEDIATE;\n{schema}\n{meta}\nCOMMIT;")
        entries, every = check(self._read, self.path, self.tally_path, most=MOST_AT_ONCE)
        self.lazily_verified = not every
        self._check_identity(identity)
        return entries

    def check_structure(self) -> None:
        """Check the structure of a journal that was opened unchecked, then remove the limits of its queries."""
        check_structure(self._read, self.path)
        remove_limits(self._read)
        self._guard = None

    # -- writing -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the writer; call inside the event loop that will wait for it."""
        self._read.execute("PRAGMA query_only=OFF")
        if __version__ not in self.versions:
            self.versions.append(__version__)
            with self._read:
                self._read.execute("INSERT OR REPLACE INTO meta VALUES ('ostrom', ?)", (" ".join(self.versions),))
        for unit in self.begun():
            if refused := self.refusals(unit):
                self._refused[unit] = {str(player): count for player, count in refused.items()}
        self._writer = Writer(self.path, self.tally_path, self._entries, self._connect, self._calls_before)

    def answer(
        self, unit: int, step: int, player: int, part: str, answer: Answer, complaints: int, text: str | None = None
    ) -> None:
        """Queue an answer and its question. It is durable after the next ``flush``."""
        question = None if text is None else self._questions.get(text) or self._question(text)
        cached = self._texts.get(id(answer))
        columns = cached[1] if cached is not None and cached[0] is answer else self._encoded(answer)
        self._put(ANSWER, (unit, step, player, part, *columns, complaints, question))

    def _question(self, text: str) -> int:
        number = self._questions[text] = len(self._questions) + 1
        self._question_texts[number] = text
        self._put(QUESTION, (number, text))
        return number

    def _encoded(self, answer: Answer) -> Row:
        """Return the columns of an answer, cached by object: the same object is passed again and again."""
        columns = answer_columns(answer)
        if len(self._texts) > 1000:
            self._texts.clear()
        self._texts[id(answer)] = (answer, columns)
        return columns

    def call(self, record: CallRecord) -> None:
        """Queue a try at a call."""
        if record.reply is not None and record.reply.finish == "filter":
            refused = self._refused.setdefault(record.unit, {})
            refused[str(record.player)] = refused.get(str(record.player), 0) + 1
        self._put(CALL, record)

    def keep_batches(self) -> None:
        """Create the table of batches; call before the first ``batch``."""
        if not has_batches(self._read):
            number = self._read.execute("PRAGMA user_version").fetchone()[0] + 1
            self._read.executescript(
                f"BEGIN IMMEDIATE;\n{statements_of('batches.sql')}\nPRAGMA user_version={number};\nCOMMIT;"
            )

    def batch(self, number: int, at: float, event: str, facts: Mapping[str, Any], keys: bytes = b"") -> None:
        """Queue an event of a batch."""
        self._put(BATCH, (number, float(at), event, dump(facts), keys))

    def record_array_play(self, unit: int, rounds: int, intended: bytes) -> None:
        """Queue all moves of a match that was played as arrays."""
        self._put(PLAY, (unit, rounds, intended))

    def finish(
        self,
        unit: int,
        state: str,
        reason: str | None,
        steps: int,
        scores: Any = None,
        facts: Any = None,
        rows: bytes | None = None,
    ) -> None:
        """Queue the end of a unit, with its rows if it has any (``UnitRows.to_bytes``)."""
        outcome = (None if scores is None else dump(scores), None if facts is None else dump(facts))
        refused = self._refused.pop(unit, None)
        self._put(UNIT, ((unit, state, reason, steps, *outcome), rows, dump(refused) if refused else None))

    def _put(self, statement: str, entry: Any) -> None:
        assert self._writer is not None, "start() first"
        self._writer.put(statement, entry)

    @property
    def backlog(self) -> int:
        """How many entries wait to be written."""
        return 0 if self._writer is None else self._writer.backlog

    @property
    def failed(self) -> bool:
        """Whether nothing more can be written."""
        return self._writer is not None and self._writer.failed

    def check_place(self) -> None:
        """Raise an error if the file is no longer at its path."""
        if self._writer is not None:
            self._writer.check_place()

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
        self.closed = True

    def begin_snapshot(self) -> None:
        """Start a read transaction: later reads see this moment, also while the run is being played."""
        if self._writer is None and not self._read.in_transaction:
            self._read.execute("BEGIN")
            self._entries = self._stated()

    def reopened(self) -> "Journal":
        """Open this journal a second time, for reading."""
        return Journal(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- reading -------------------------------------------------------------------------------------

    def _rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        if self._guard is not None and not self._under_way:
            self._guard.reset_limits()
        self._under_way += 1
        try:
            # Row by row: a reader that stops early must not close the cursor of a closed journal.
            yield from (row for row in self._read.execute(query, values))
        except DAMAGE as error:
            raise RunError(explain(self.path, error)) from None
        finally:
            self._under_way -= 1

    def file(self, unit: int) -> Path:  # noqa: ARG002
        """Return the journal file of a unit."""
        return self.path

    def _entries_of(self, table: str, rest: str = "", *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield rows of a table: the columns covered by the checksum, then the checksum, verified if needed."""
        rows = self._rows(f"SELECT {COLUMNS[table]}, seal FROM {table} {rest}", *values)
        return self._sealed(table, rows) if self.lazily_verified else rows

    def _sealed(self, table: str, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        seals = Seals(table)
        for row in rows:
            seals.require(row, self.path)
            yield row

    def check_seals(self) -> int:
        """Verify every checksum; return the number of entries."""
        entries, _ = check(self._read, self.path, self.tally_path)
        self.lazily_verified = False
        return entries

    @property
    def was_closed(self) -> bool:
        """Whether the last process that wrote to the journal closed it."""
        return bool(next(self._rows("SELECT value FROM meta WHERE key='closed'"), (0,))[0] == 1)

    def states(self) -> dict[int, str]:
        """The state of every unit that has ended."""
        return dict(self._rows("SELECT unit, state FROM units"))

    def unit_records(self, unit: int | None = None) -> Iterator[UnitRecord]:
        """Yield the records of all ended units (or of one), with their rows if stored, in order."""
        where, values = ("", ()) if unit is None else ("WHERE unit=? ", (unit,))
        tables = [self._entries_of(name, f"{where}ORDER BY unit", *values) for name in ("plays", "unit_rows")]
        heads = [next(table, None) for table in tables]
        for number, state, reason, _, scores, facts, _ in self._entries_of("units", f"{where}ORDER BY unit", *values):
            for at, table in enumerate(tables):
                while (head := heads[at]) is not None and head[0] < number:
                    heads[at] = next(table, None)
            own = [head if head is not None and head[0] == number else None for head in heads]
            content, refused = (None, None) if own[1] is None else own[1][1:3]
            yield UnitRecord(
                number, state, reason, shaped(scores, list), facts, content, shaped(refused, dict) or {},
                None if own[0] is None else own[0][1:3],
            )  # fmt: skip

    def sample(self, count: int) -> list[int]:
        """Return random units with stored rows."""
        return draw_units(self._rows, count)

    def endings(self) -> Iterator[tuple[int, str, str | None]]:
        """Unit, state and reason of every unit that has ended."""
        yield from self._rows("SELECT unit, state, reason FROM units ORDER BY unit")

    def end_versions(self, after: int) -> Iterator[tuple[int, str, str]]:
        """Yield unit, state and version of the end for every ended unit above ``after``, in order."""
        yield from self._rows("SELECT unit, state, times || ':' || seal FROM units WHERE unit > ? ORDER BY unit", after)

    def readings(self, unit: int) -> dict[str, int]:
        """How many answers of a unit have each reading."""
        return dict(self._rows("SELECT reading, count(*) FROM answers WHERE unit=? GROUP BY reading", unit))

    def outcome_of(self, unit: int) -> tuple[str, str | None, list[float] | None, dict[str, Any]] | None:
        """State, reason, scores and facts of a unit that has ended."""
        for _, state, reason, _, scores, facts, _ in self._entries_of("units", "WHERE unit=?", unit):
            return state, reason, shaped(scores, list), shaped(facts, dict) or {}
        return None

    def has_begun(self, unit: int) -> bool:
        """Whether a unit has an answer or a call."""
        return any(
            self._rows("SELECT 1 FROM answers WHERE unit=?1 UNION ALL SELECT 1 FROM calls WHERE unit=?1 LIMIT 1", unit)
        )

    def begun(self) -> set[int]:
        """Return the units with answers or calls that are not done: unfinished, failed or skipped ones."""
        query = (  # goes from unit to unit, not from answer to answer
            "WITH RECURSIVE b(unit) AS (SELECT min(unit) FROM {0} UNION ALL SELECT (SELECT min(unit) FROM {0} "
            "WHERE unit > b.unit) FROM b WHERE b.unit IS NOT NULL) SELECT unit FROM b WHERE unit IS NOT NULL "
            "AND unit NOT IN (SELECT unit FROM units WHERE state='done')"
        )
        return {row[0] for table in ("answers", "calls") for row in self._rows(query.format(table))}

    def answers(self, unit: int) -> dict[Place, Journaled]:
        """Return all answers of a unit, with the number of complaints before each and the question."""
        read = cache(self._answer_of)  # the answers of a match repeat few
        rows = self._entries_of("answers", "WHERE unit=? ORDER BY step, player, part", unit)
        return {row[1:4]: read(row[4:-1]) for row in rows}

    def _answer_of(self, columns: tuple[Any, ...]) -> Journaled:
        value, reading, odds, note, facts, complaints, question = columns
        answer = Answer(load(value), reading, shaped(odds, dict), note, shaped(facts, dict))
        return answer, complaints, self._question_texts.get(question)

    @property
    def questions(self) -> list[str]:
        """Return every distinct question, as canonical JSON."""
        return list(self._questions)

    def assigned(self) -> Iterator[tuple[int, int, int, Any]]:
        """Yield unit, step, player and value of every answer by assignment, in order."""
        query = "SELECT unit, step, player, value FROM answers WHERE reading='assigned' ORDER BY unit, step, player"
        return ((*place, load(value)) for *place, value in self._rows(query))

    @property
    def played_by(self) -> str:
        """Describe the versions that wrote the journal and the one that reads it."""
        versions = f"journaled by ostrom {', '.join(self.versions) or 'unknown'}, read by ostrom {__version__}"
        return "; ".join((versions, *self.changed_packages))

    def play(self, unit: int) -> tuple[int, bytes] | None:
        """Rounds and packed moves of a match that was played as arrays."""
        return next((row[1:3] for row in self._entries_of("plays", "WHERE unit=?", unit)), None)

    def replies(self, unit: int) -> dict[tuple[int, int, str, bytes], Reply]:
        """Return the replies by place and key: on resume they are not requested again."""
        return {
            (row[1], row[2], row[3], row[7]): reply_of(row)
            for row in self._entries_of("calls", "WHERE unit=? AND (error IS NULL OR finish='filter')", unit)
        }

    def calls_of(self, unit: int) -> Iterator[JournaledCall]:
        """Every try at a call of a unit with its prompt, oldest first."""
        for row in self._entries_of("calls", "WHERE unit=? ORDER BY id", unit):
            yield JournaledCall(
                (*row[1:4],),
                row[6],
                row[7],
                self._prompt_at(*row[8:10]),
                load(row[10]),
                None if row[11] is None else reply_of(row),
            )

    def check_packages(self) -> None:
        """Read every package of prompts; an unreadable or oversized one is refused."""
        for (number,) in self._rows("SELECT id FROM prompts ORDER BY id"):
            read_package(self._package, number, self.path)

    def served(self) -> dict[str, list[str]]:
        """The models that were called, each with the versions that its servers named."""
        query = "SELECT model, version FROM calls GROUP BY model, version ORDER BY model, version"
        versions = grouped((model, version) for model, version in self._rows(query))
        return {model: [version for version in named if version is not None] for model, named in versions.items()}

    def batches(self) -> Iterator[tuple[int, float, str, dict[str, Any], bytes]]:
        """Number, time, event, details and request keys of every batch event, in order."""
        if has_batches(self._read):
            for number, at, event, facts, keys in self._rows(
                "SELECT batch, at, event, told, keys FROM batches ORDER BY id"
            ):
                yield number, at, event, load(facts), keys

    def answered(self) -> set[bytes]:
        """The keys of all calls that got a reply."""
        return {key for (key,) in self._rows("SELECT key FROM calls WHERE error IS NULL OR finish='filter'")}

    def call_rows(self, run: str, unit: int | None = None) -> Iterator[dict[str, Any]]:
        """All tries at calls (of one unit) in the order of matches, without their prompts."""
        source = self.call_columns(unit)
        names = next(source)
        for row in source:
            named = dict(zip(names, row, strict=True))
            yield {"run": run, **named, "player": named["player"] + 1}

    def call_columns(self, unit: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Yield the column names, then all tries at calls (of one unit) by match; players are numbered from 0."""
        yield CALL_NAMES
        which, values = ("", ()) if unit is None else ("WHERE unit=? ", (unit,))
        names = ", ".join(CALL_NAMES).replace("match", "unit AS match")
        order = f"FROM calls {which}ORDER BY unit, step, player, id"
        if not self.lazily_verified:
            yield from self._rows(f"SELECT {names} {order}", *values)
            return
        seals, width = Seals("calls"), len(CALL_NAMES)
        for row in self._rows(f"SELECT {names}, {COLUMNS['calls']}, seal {order}", *values):
            seals.require(row[width:], self.path)
            yield row[:width]

    def prompt(self, call: int) -> list[list[str]] | None:
        """The messages of one call as [role, content] pairs."""
        return next((self._prompt_at(*at) for at in self._rows("SELECT prompt, nth FROM calls WHERE id=?", call)), None)

    def _prompt_at(self, package: int, nth: int) -> list[list[str]]:
        try:
            return resolve_prompt(package, nth, self._package)
        except UNREADABLE as error:
            raise RunError(f"{self.path}: the journal is damaged: prompt {nth} of package {package}: {error}") from None

    def _packed(self, package: int) -> bytes:
        for _, texts, _ in self._entries_of("prompts", "WHERE id=?", package):
            return bytes(texts)
        raise RunError(f"{self.path}: the journal is damaged: package {package} of its prompts is missing")

    def replies_to(self, unit: int, step: int, player: int) -> list[tuple[int, str, str, str | None]]:
        """Return the replies to one decision in order: id of the call, part, text, reasoning."""
        query = (
            "SELECT id, part, reply, reasoning FROM calls "
            "WHERE unit=? AND step=? AND player=? AND error IS NULL ORDER BY id"
        )
        return list(self._rows(query, unit, step, player))

    def refusals(self, unit: int) -> dict[int, int]:
        """How many calls of a unit were declined by a content filter or the model, by player."""
        return dict(
            self._rows("SELECT player, count(*) FROM calls WHERE unit=? AND finish='filter' GROUP BY player", unit)
        )

    def unreported(self) -> Iterator[tuple[Any, ...]]:
        """Yield all tries, oldest first, if some lack a report of tokens or price; else nothing.

        Model, parameters, bytes of the prompt, usage, price, bytes of the reply, whether it was cut, error, status.
        """
        sent = "source NOT IN ('cache', 'seat')"
        without = "(tokens_in IS NULL OR tokens_out IS NULL OR usd IS NULL)"
        if not any(self._rows(f"SELECT 1 FROM calls WHERE {sent} AND {without} LIMIT 1")):
            return
        query = (
            "SELECT id, model, params, tokens_in, tokens_out, tokens_cached, usd, error, status, finish='length', "
            "length(CAST(coalesce(reply,'')||coalesce(reasoning,'') AS BLOB)) "
            f"FROM calls WHERE {sent} ORDER BY id"
        )
        for number, model, params, *tokens, usd, error, status, cut, written in self._rows(query):
            prompt = len(orjson.dumps(self.prompt(number)))
            yield model, load(params), prompt, Usage(*tokens), usd, written, bool(cut), error, status

    def spent(self) -> dict[str, float]:
        """Return totals over calls not answered by a cache or a seat: tokens, money, retries, unreadable replies."""
        of_calls = "calls tokens_in tokens_out usd failed_tries unpriced cached refused tokens_cached"
        calls = (
            "SELECT coalesce(sum(asked),0), coalesce(sum(asked*tokens_in),0), coalesce(sum(asked*tokens_out),0), "
            "coalesce(sum(usd),0), coalesce(sum(error IS NOT NULL AND finish IS NULL),0), "
            "coalesce(sum(error IS NULL AND usd IS NULL),0), coalesce(sum(source='cache'),0), "
            "coalesce(sum(asked AND finish='filter'),0), coalesce(sum(asked*tokens_cached),0) "
            "FROM (SELECT *, source NOT IN ('cache', 'seat') AS asked FROM calls)"
        )
        answers = (
            "SELECT coalesce(sum(part=''),0), coalesce(sum(complaints),0), "
            "coalesce(sum(reading IN ('policy', 'refused')),0) FROM answers"
        )
        totals = chain(*self._rows(calls), *self._rows(answers))
        return dict(zip(f"{of_calls} decisions complaints policies".split(), totals, strict=True))
