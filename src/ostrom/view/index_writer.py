"""Brings the index of a run up to date: its matches by replaying them, its words call by call.

Work goes on in small transactions, so it can be stopped at any moment and goes on from there. The journal is only
read. An index that does not belong to the journal (another study, fewer entries, a match that was withdrawn since)
is thrown away and made anew.
"""

import fcntl
import os
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import orjson

from ostrom.engine.folder import Folder, identity
from ostrom.engine.integrity import DAMAGE, MOST_CELL, explain
from ostrom.engine.plan import Unit
from ostrom.engine.shards import CALLS_APART
from ostrom.features.transcript.transcript import ended_early
from ostrom.games.amounts import IDLE, Amounts
from ostrom.ground.errors import OstromError, RunError
from ostrom.ground.files import plain
from ostrom.ground.terminal import one_line, say
from ostrom.ground.values import grouped
from ostrom.studies.run import Run, open_run
from ostrom.view.index import PLAYERS, VERSION, index_path, own_schema, place, remove, schema_of, schema_text
from ostrom.view.words import Speech

SOME = 100
"""Matches in one transaction."""
MOST_OPEN = 200
"""Open matches that are looked at in one update."""
FOLLOWED = 1800
"""Seconds for which a run that is being played is followed; whoever looks again asks again."""
PAUSE = 3
"""Seconds between updates of a run that is being played."""
LONGEST_STRIP = 2000
MOST_STRIPS = 64

TOTAL = (
    "INSERT INTO matches (match, calls, errors, tokens_in, tokens_out, usd, unpriced) "
    "SELECT s.match, count(*), sum(c.error IS NOT NULL AND c.finish IS NULL), coalesce(sum(c.tokens_in), 0), "
    "coalesce(sum(c.tokens_out), 0), total(c.usd), sum(c.error IS NULL AND c.usd IS NULL) "
    "FROM spoken s JOIN journal.calls c ON c.id=s.call WHERE s.call > ? AND s.call <= ? GROUP BY s.match "
    "ON CONFLICT (match) DO UPDATE SET calls=calls+excluded.calls, errors=errors+excluded.errors, "
    "tokens_in=tokens_in+excluded.tokens_in, tokens_out=tokens_out+excluded.tokens_out, usd=usd+excluded.usd, "
    "unpriced=unpriced+excluded.unpriced"
)
"""What the calls between two numbers add to their matches."""


class _Stale(Exception):
    """The index does not belong to the journal any more."""


def update(folder: Path, *, stop: Callable[[], bool] = lambda: False, path: Path | None = None) -> bool:
    """Bring the index of a run up to date; whether it is, or somebody else is at it or it was stopped.

    ``path`` is where the index lies, if not in the user's cache.
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
                if not _journal_reads(folder):
                    raise
                remove(where)  # the index itself is damaged: it is derived
        raise RunError(f"{where}: the index cannot be written")


def _update(folder: Path, where: Path, stop: Callable[[], bool]) -> bool:
    with open_run(folder, checked=False) as run, closing(_opened(where, run)) as connection:
        if not run.folder.being_played:  # its player checked it
            run.journal.check_structure()
        writer = _Indexer(run, connection, stop)
        try:
            return writer.update()
        except OstromError as error:
            writer.tell(problem=str(error))
            raise


class _Indexer:
    """One update of one index."""

    def __init__(self, run: Run, connection: sqlite3.Connection, stop: Callable[[], bool]) -> None:
        self.run, self.connection, self.stop = run, connection, stop
        self.rows = run.rows
        self.hidden = run.plan.hidden
        self._cells = {
            str(levels): int(n) for n, levels in connection.execute("SELECT id, levels FROM cells")
        }

    def update(self) -> bool:
        """Do everything there is to do; False if it was stopped before."""
        entries, planned = self.run.journal.entries, 0
        journals = [part.journal for part in self.run.folder.parts]
        for number, journal in enumerate(journals):
            with self._attached(journal):
                _check_last(self.connection, number)
                planned += self.connection.execute("SELECT count(*) FROM journal.units").fetchone()[0]
                self.tell(**{place("of_calls", number): self._last(number)})
        self.tell(of_matches=planned, parts=len(journals), problem=None)
        for number, journal in enumerate(journals):
            with self._attached(journal):
                if not (self._ended() and self._open() and self._calls(number, self._last(number))):
                    return False
        self.tell(entries=entries, at=time.time())
        return True

    @contextmanager
    def _attached(self, journal: Path) -> Iterator[None]:
        """One journal beside the index, for reading."""
        self.connection.execute("ATTACH ? AS journal", (f"{journal.resolve().as_uri()}?mode=ro",))
        try:
            yield
        finally:
            self.connection.rollback()
            self.connection.execute("DETACH journal")

    def _last(self, number: int) -> int:
        """The last call of the journal that is attached, the so-manieth of the run."""
        query = "SELECT coalesce(max(id), ?) FROM journal.calls"
        return int(self.connection.execute(query, (number * CALLS_APART,)).fetchone()[0])

    def tell(self, **facts: Any) -> None:
        """Keep facts about the index."""
        with self.connection:
            self._tell(**facts)

    def _tell(self, **facts: Any) -> None:
        self.connection.executemany("INSERT OR REPLACE INTO main.meta VALUES (?, ?)", list(facts.items()))

    # -- matches -------------------------------------------------------------------------------------

    def _ended(self) -> bool:
        """The matches that have come to an end since."""
        after = -1
        while not self.stop():
            due = self.connection.execute(
                "SELECT u.unit, u.state, u.reason, u.times FROM journal.units u LEFT JOIN matches m ON m.match=u.unit "
                "WHERE u.unit > ? AND m.times IS NOT u.times ORDER BY u.unit LIMIT ?",
                (after, SOME),
            ).fetchall()
            with self.connection:
                for unit, state, reason, times in due:
                    self._match(unit, state, reason, times)
                (done,) = self.connection.execute("SELECT count(*) FROM matches WHERE times > 0").fetchone()
                self._tell(matches=done)
            if not due:
                return True
            after = due[-1][0]
        return False

    def _open(self) -> bool:
        """The matches that are under way, as far as they have come."""
        query = (
            "WITH RECURSIVE begun(unit) AS (SELECT min(unit) FROM journal.answers UNION ALL "
            "SELECT (SELECT min(unit) FROM journal.answers WHERE unit > begun.unit) FROM begun WHERE unit IS NOT NULL) "
            "SELECT b.unit, (SELECT max(step) FROM journal.answers a WHERE a.unit=b.unit) AS step FROM begun b "
            "LEFT JOIN journal.units u ON u.unit=b.unit LEFT JOIN matches m ON m.match=b.unit "
            "WHERE b.unit IS NOT NULL AND u.unit IS NULL AND (m.steps IS NULL OR m.steps <= step) LIMIT ?"
        )
        for unit, _ in self.connection.execute(query, (MOST_OPEN,)).fetchall():
            if self.stop():
                return False
            with self.connection:
                self._match(unit, "open", None, 0)
        return True

    def _match(self, number: int, state: str, reason: str | None, times: int) -> None:
        if state == "withdrawn" or number in self.hidden:
            known = self.connection.execute(
                "SELECT calls FROM matches WHERE match=? AND state IS NOT NULL", (number,)
            )
            if known.fetchone() is not None:
                raise _Stale  # its words are in the index, and must not stay there
            self._put(number, {"times": times})
            return
        found: dict[str, Any] = {"state": state, "reason": reason, "times": times}
        try:
            if number >= len(self.run.plan):
                raise RunError(f"holds match {number}, the study has only {len(self.run.plan)}")
            unit = self.run.plan.unit(number)
            found |= self._head(unit)
            found |= self._played(unit)
        except OstromError as error:
            found |= {"state": "damaged", "reason": str(error)}
        except (*DAMAGE, ValueError, KeyError, IndexError, TypeError) as error:
            why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            found |= {"state": "damaged", "reason": f"match {number} cannot be read ({why})"}
        self._put(number, found)

    def _put(self, number: int, columns: dict[str, Any]) -> None:
        names = ", ".join(columns)
        news = ", ".join(f"{name}=excluded.{name}" for name in columns)
        self.connection.execute(
            f"INSERT INTO matches (match, {names}) VALUES (?{', ?' * len(columns)}) "
            f"ON CONFLICT (match) DO UPDATE SET {news}",
            (number, *columns.values()),
        )

    def _head(self, unit: Unit) -> dict[str, Any]:
        players = list(self.rows.planned(unit))
        return {
            "kind": unit.kind,
            "cell": self.cell_of(unit),
            "seed": unit.seed,
            "game": unit.game.name,
            "mechanism": unit.mechanism.name,
            "agents": _json([seated.name for seated in unit.players]),
            **{
                column: _json([row[name] for row in players])
                for name, column in PLAYERS.items()
                if name != "agent"
            },
        }

    def _played(self, unit: Unit) -> dict[str, Any]:
        steps, outcome, answers = self.rows.replayed(unit)
        rounds: Any = outcome.rounds if outcome is not None else steps[-1][0].view.history if steps else ()
        readings = Counter(answer.reading for answer, _, _ in answers.values())
        scores = None if outcome is None else [float(score) for score in outcome.scores]
        return {
            "steps": max((step for step, _, _ in answers), default=-1) + 1,
            "rounds": len({r.number for r in rounds}),
            **({"reason": early} if outcome is not None and (early := ended_early(outcome.facts)) else {}),
            "scores": None if scores is None else _json(scores),
            "score": sum(scores) / len(scores) if scores else None,
            **strips_of(unit, rounds),
            "readings": _json(dict(sorted(readings.items()))),
            "complaints": sum(complaints for _, complaints, _ in answers.values()),
            "policies": readings["policy"] + readings["refused"],
        }

    def cell_of(self, unit: Unit) -> int:
        """The number of a unit's cell."""
        levels = _json(dict(unit.cell))
        if levels not in self._cells:
            self._cells[levels] = len(self._cells) + 1
            self.connection.execute("INSERT INTO cells VALUES (?, ?)", (self._cells[levels], levels))
        return self._cells[levels]

    # -- words ---------------------------------------------------------------------------------------

    def _calls(self, number: int, last: int) -> bool:
        first, name = number * CALLS_APART, place("calls", number)
        (through,) = self.connection.execute(
            "SELECT coalesce(max(call), ?1) FROM spoken WHERE call BETWEEN ?1 AND ?2", (first, last)
        ).fetchone()
        known = self.connection.execute("SELECT value FROM main.meta WHERE key=?", (name,)).fetchone()
        through = max(int(through), known[0] if known is not None and type(known[0]) is int else 0)
        speech = Speech(self.run, self.connection, self.cell_of, self.hidden)
        while through < last:
            if self.stop():
                return False
            with self.connection:
                before, through = through, speech.some(through)
                self.connection.execute(TOTAL, (before, through))
                self._tell(**{name: through, place("seal", number): speech.seal})
        return True


def strips_of(unit: Unit, rounds: Any) -> dict[str, Any]:
    """What every player did, one sign per round: C or D where the game says what cooperating is, of an amount its
    share of what may be named (0 to 9), else the letter of the action (a, b, ...), a dot where the round is void or the
    player had nothing to decide."""
    signs = [
        (player, played.number, "·" if played.void else sign_of(unit, seat, played.actions[seat]))
        for played in rounds
        for seat, player in enumerate(played.players or range(len(played.payoffs)))
    ]
    strips = grouped((player, sign) for player, _, sign in signs)
    acts = Counter(sign for strip in strips.values() for sign in strip)
    known = acts["C"] + acts["D"]
    shown = [strips.get(player, []) for player in range(min(len(unit.players), MOST_STRIPS))]
    return {
        "strips": _json(["".join(strip[:LONGEST_STRIP]) for strip in shown]),
        "outcome": "".join(strip[-1] for strip in shown[:8] if strip) or None,
        "first_defection": min((number for _, number, sign in signs if sign == "D"), default=None),
        "cooperation": acts["C"] / known if known else None,
    }


def sign_of(unit: Unit, seat: int, action: Any) -> str:
    """One sign for an action."""
    options = unit.game.actions[seat]
    if isinstance(options, Amounts) and action < options.levels:
        return str(round(9 * action / max(1, options.levels - 1)))
    if options[action] == IDLE:
        return "·"
    cooperates = unit.game.cooperates(seat, action)
    if cooperates is not None:
        return "C" if cooperates else "D"
    return chr(ord("a") + action) if type(action) is int and 0 <= action < 26 else "#"


def _json(data: Any) -> str:
    return orjson.dumps(
        data, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS, default=str
    ).decode()


# -- the file ------------------------------------------------------------------------------------------


def _opened(where: Path, run: Run) -> sqlite3.Connection:
    """The index for writing, with the journal beside it for reading; one that is not ours is refused as stale."""
    new = not plain(where).exists()
    connection = sqlite3.connect(where.resolve().as_uri(), uri=True, timeout=10)
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_CELL)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        for statement in (
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "trusted_schema=OFF",
            "cache_size=-16000",
        ):
            connection.execute(f"PRAGMA {statement}").fetchone()
        if new:
            connection.executescript(f"BEGIN;\n{schema_text()}\nCOMMIT;")
            with connection:
                facts = {
                    "version": VERSION, "study": identity(run.manifest), "matches": 0, "calls": 0,
                    "folder": os.fsencode(run.folder.path.resolve()),
                }  # fmt: skip
                connection.executemany("INSERT INTO meta VALUES (?, ?)", list(facts.items()))
        if schema_of(connection) != own_schema():
            raise _Stale
        _check_belongs(connection, run)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_belongs(connection: sqlite3.Connection, run: Run) -> None:
    meta = dict(connection.execute("SELECT key, value FROM main.meta"))
    entries = meta.get("entries")
    if (
        meta.get("version") != VERSION
        or meta.get("study") != identity(run.manifest)
        or (type(entries) is int and entries > run.journal.entries)
    ):
        raise _Stale


def _check_last(connection: sqlite3.Connection, number: int) -> None:
    """Refuse an index whose last call of a journal is another one there; the journal is attached."""
    meta = dict(connection.execute("SELECT key, value FROM main.meta"))
    calls = meta.get(place("calls", number)) or 0
    last = connection.execute("SELECT seal FROM journal.calls WHERE id=?", (calls,)).fetchone()
    if calls > number * CALLS_APART and (last is None or last[0] != meta.get(place("seal", number))):
        raise _Stale


def _journal_reads(folder: Path) -> bool:
    """Whether the journal can be read at all; where it cannot, that is what is said."""
    with open_run(folder, checked=False) as run:
        try:
            run.journal.check_structure()
        except DAMAGE as error:
            raise RunError(explain(run.journal.path, error)) from None
    return True


@contextmanager
def _locked(where: Path) -> Iterator[bool]:
    """Keep a second indexer out; whether this is the only one."""
    handle = os.open(
        plain(where.with_name(where.name + ".lock")), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644
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
    """Bring an index up to date, and again while the run is being played."""
    until = time.monotonic() + FOLLOWED
    while not stop():
        done = update(folder, stop=stop, path=path)
        if not done or not Folder(folder).being_played or time.monotonic() > until:
            return
        for _ in range(PAUSE):
            time.sleep(0 if stop() else 1)


def main(arguments: list[str]) -> None:
    """Index FOLDER into PATH, as long as the process that asked for it lives."""
    os.nice(10)
    parent = os.getppid()
    folder, path = Path(arguments[0]), Path(arguments[1])
    try:
        follow(folder, path, lambda: os.getppid() != parent)
    except OstromError as error:
        say(one_line(str(error)))
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
