"""The list of a run's matches: an SQL table filled from the rows of each match, kept only while the run is open.

The table is private to the process (SQLite keeps it in memory, and the rest in an unnamed temporary file). It is filled
in the order of the matches and in slices of time, so that the first page is there at once on a run of any size. A page
says how far the list has come: matches that were not read yet are missing, and no row is wrong.
"""

import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import orjson
from numpy import argsort, array, bincount, concatenate, int64, isin, uint32, unique
from numpy.typing import NDArray

from ostrom.engine.entries import load
from ostrom.engine.integrity import DAMAGE, reading
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Unit
from ostrom.engine.rows import UnitTable
from ostrom.engine.shards import CallCursor, entries_in
from ostrom.engine.unit_rows import ANSWERS, OUTCOMES, PLAYERS, UnitRows
from ostrom.features.transcript.transcript import ended_early
from ostrom.games.amounts import IDLE, Amounts
from ostrom.ground.errors import OstromError, RunError, UnknownName, UsageError
from ostrom.studies.run import Run

SORTS = (
    "match", "cell", "state", "outcome", "rounds", "score", "cooperation", "first_defection", "complaints", "policies",
    "calls", "errors", "tokens_out", "usd",
)  # fmt: skip
"""The columns that matches can be sorted by."""
NUMBERS = tuple(name for name in SORTS if name not in ("cell", "state", "outcome"))
"""The numeric columns: a filter can set bounds on them."""
COUNTED = ("calls", "errors", "tokens_in", "tokens_out", "usd", "unpriced")
"""The columns that are sums over the calls of a match."""
SEATED = {"agent": "agents", "role": "roles", "model": "models"}
"""The filters on one player, each with the column of matches that lists its value for every player."""
MOST_ROWS = 500
TOGETHER = 500
"""The number of ended matches that are compared with the list at a time."""
SHARE = 20
"""A complete list is next updated after this many times the duration of its last update."""
LONGEST_STRIP = 2000
MOST_STRIPS = 64

TABLES = """
CREATE TABLE cells (id INTEGER PRIMARY KEY, levels TEXT NOT NULL UNIQUE);
CREATE TABLE matches (
  match INTEGER PRIMARY KEY, mark TEXT, kind TEXT, state TEXT, reason TEXT, cell INTEGER, seed INTEGER, game TEXT,
  mechanism TEXT, agents TEXT, roles TEXT, models TEXT, rounds INTEGER, scores TEXT, score REAL, cooperation REAL,
  outcome TEXT, first_defection INTEGER, strips TEXT, readings TEXT, complaints INTEGER, policies INTEGER
);
CREATE INDEX matches_seed ON matches (seed, cell);
CREATE TABLE totals (
  match INTEGER PRIMARY KEY, calls INTEGER, errors INTEGER, tokens_in INTEGER, tokens_out INTEGER, usd REAL,
  unpriced INTEGER
);
CREATE VIEW listed AS SELECT m.*, coalesce(calls, 0) AS calls, coalesce(errors, 0) AS errors,
  coalesce(tokens_in, 0) AS tokens_in, coalesce(tokens_out, 0) AS tokens_out, coalesce(usd, 0) AS usd,
  coalesce(unpriced, 0) AS unpriced FROM matches m LEFT JOIN totals t ON t.match=m.match;
"""
ADD = f"INSERT INTO totals VALUES (?{', ?' * len(COUNTED)}) ON CONFLICT (match) DO UPDATE SET " + ", ".join(
    f"{name}={name}+excluded.{name}" for name in COUNTED
)


@dataclass(frozen=True)
class ListProgress:
    """How many matches and calls of a run a list holds, and how many there are."""

    matches: int = 0
    of_matches: int = 0
    calls: int = 0
    of_calls: int = 0

    @property
    def complete(self) -> bool:
        """Whether the list holds all matches and all calls."""
        return self.matches >= self.of_matches and self.calls >= self.of_calls


@dataclass(frozen=True)
class MatchFilters:
    """Which matches to show; without any filter, all of them."""

    levels: Mapping[str, str] = field(default_factory=dict)
    """The level of each factor, as text."""
    cell: int | None = None
    agent: str | None = None
    role: str | None = None
    model: str | None = None
    """Agent, role and model must be those of one and the same player."""
    state: str | None = None
    outcome: str | None = None
    reading: str | None = None
    """A reading of answers (how a reply was understood) that occurs in the match."""
    retries: bool = False
    """Only matches with replies that could not be read."""
    errors: bool = False
    """Only matches with calls that failed."""
    kind: str | None = None
    game: str | None = None
    mechanism: str | None = None
    least: Mapping[str, float] = field(default_factory=dict)
    """The smallest allowed value of each numeric column; ``most`` has the largest."""
    most: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class MatchPage:
    """One page of the list of matches."""

    rows: list[dict[str, Any]]
    after: str | None
    """The ``after`` argument for the next page; None if this is the last one."""


class MatchList:
    """The list of an open run's matches; only the reader that holds the run's lock may use it."""

    def __init__(self, run: Run) -> None:
        self.run, self.rows = run, run.rows
        self._begin()

    def _begin(self) -> None:
        self.connection = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self.connection.executescript(TABLES)
        self.progress = ListProgress(of_matches=1)
        self._cells: dict[str, int] = {}
        self._seated: dict[str, set[str]] = {name: set() for name in SEATED}
        self._models: set[tuple[str, str | None]] = set()
        """Every agent that occurs, with its model."""
        self._readings: set[str] = set()
        self._cursors = {part.journal: CallCursor() for part in self.run.folder.parts}
        self._entries: int | None = None
        """The number of entries in the journals when the list was last complete."""
        self._at, self._walked, self._total, self._aim = -1, 0, 0, 0
        """The state of an update: the last ended match compared, how many were compared, and how many there are;
        then the number of entries in the journals when the update began."""
        self._next = 0.0
        """The time from which a complete list may be updated again."""

    def close(self) -> None:
        """Discard the list."""
        self.connection.close()

    # -- filling -------------------------------------------------------------------------------------

    def update(self, seconds: float = float("inf")) -> bool:
        """Read more of the journals for about this many seconds; True if the list is complete then."""
        began = time.monotonic()
        if self.progress.complete and began < self._next:
            return True
        entries = self._looked()
        if entries == self._entries:
            return True
        until = time.monotonic() + seconds
        if self._at < 0:
            self._aim = entries
        if not (self._ended(until) and self._open(until) and self._calls(until)):
            return False
        self._entries, self._at, self._walked = self._aim, -1, 0
        self._next = time.monotonic() + SHARE * (time.monotonic() - began)
        return True

    def _looked(self) -> int:
        """Count calls and ended matches, start anew if a journal was replaced, and return the number of entries."""
        entries = total = 0
        for path, cursor in self._cursors.items():
            with reading(path) as journal:
                if not cursor.look(journal):
                    self.close()
                    self._begin()
                    return self._looked()
                entries += entries_in(journal)
                total += journal.execute("SELECT count(*) FROM units").fetchone()[0]
        self._total = total
        self._count_calls()
        return entries

    def _count_calls(self) -> None:
        calls, of_calls = (
            sum(getattr(cursor, name) - cursor.before for cursor in self._cursors.values())
            for name in ("through", "last")
        )
        self.progress = replace(self.progress, calls=calls, of_calls=of_calls)

    def _ended(self, until: float) -> bool:
        """List the matches that have ended, or ended again; False if the time was up before the last one."""
        while True:
            ends = list(islice(self.run.journal.end_versions(self._at), TOGETHER))
            last = ends[-1][0] if len(ends) == TOGETHER else (1 << 62)
            query = "SELECT match, mark FROM matches WHERE match > ? AND match <= ? AND state <> 'open'"
            marks = dict(self.connection.execute(query, (self._at, last)))
            for unit, state, mark in ends:
                if marks.pop(unit, None) != mark:
                    self._read(unit, mark, state)
                self._at, self._walked = unit, self._walked + 1
                if time.monotonic() > until:
                    counted = self._walked if self._entries is None else self._total
                    self.progress = replace(self.progress, matches=counted, of_matches=self._total)
                    return False
            for gone in marks:
                self.connection.execute("DELETE FROM matches WHERE match=?", (gone,))
            if len(ends) < TOGETHER:
                self.progress = replace(self.progress, matches=self._total, of_matches=self._total)
                return True

    def _open(self, until: float) -> bool:
        """List the matches in play, as far as they have come; False if the time was up before the last one."""
        journal, plan = self.run.journal, self.run.plan
        marks = dict(self.connection.execute("SELECT match, mark FROM matches WHERE state='open'"))
        for unit in sorted(journal.begun()) if self._total < plan.planned else []:
            if journal.outcome_of(unit) is not None:
                continue
            mark = str(sum(journal.readings(unit).values()))
            if marks.pop(unit, None) != mark:
                self._read(unit, mark, "open")
                if time.monotonic() > until:
                    return False
        for gone in marks:
            self.connection.execute("DELETE FROM matches WHERE match=? AND state='open'", (gone,))
        return True

    def _calls(self, until: float) -> bool:
        """Add the next calls to the totals of their matches; False if the time was up before the last one."""
        for path, cursor in self._cursors.items():
            if cursor.through < cursor.last:
                with reading(path) as journal:
                    for rows in cursor.sums(journal, until):
                        self.connection.executemany(ADD, rows)
        self._count_calls()
        return self.progress.calls == self.progress.of_calls

    def _read(self, number: int, mark: str, state: str) -> None:
        """Put a match into the list as the journal has it, or remove it if it is withdrawn or hidden."""
        plan = self.run.plan
        if state == "withdrawn" or number in plan.hidden:
            self.connection.execute("DELETE FROM matches WHERE match=?", (number,))
            return
        columns: dict[str, Any] = {"match": number, "mark": mark, "state": state}
        try:
            if number >= len(plan):
                raise RunError(f"holds match {number}, the study has only {len(plan)}")
            columns |= self._head(plan.unit(number))
            for table in self.rows.tables(number):
                columns |= self._played(table)
        except OstromError as error:
            columns |= {"state": "damaged", "reason": str(error)}
        except (*DAMAGE, ValueError, LookupError, TypeError) as error:
            why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            columns |= {"state": "damaged", "reason": f"match {number} cannot be read ({why})"}
        names, places = ", ".join(columns), ", ".join("?" * len(columns))
        self.connection.execute(f"INSERT OR REPLACE INTO matches ({names}) VALUES ({places})", list(columns.values()))

    def _head(self, unit: Unit) -> dict[str, Any]:
        players = list(self.rows.planned(unit))
        seated = {column: [row[name] for row in players] for name, column in SEATED.items()}
        for name, column in SEATED.items():
            self._seated[name].update(value for value in seated[column] if value is not None)
        self._models.update(zip(seated["agents"], seated["models"], strict=True))
        levels = _json(dict(unit.cell))
        if levels not in self._cells:
            self._cells[levels] = len(self._cells) + 1
            self.connection.execute("INSERT INTO cells VALUES (?, ?)", (self._cells[levels], levels))
        return {
            "kind": unit.kind, "cell": self._cells[levels], "seed": unit.seed, "game": unit.game.name,
            "mechanism": unit.mechanism.name, **{column: _json(values) for column, values in seated.items()},
        }  # fmt: skip

    def _played(self, table: UnitTable) -> dict[str, Any]:
        rows, readings = table.rows, _readings(self.run.journal, table)
        self._readings.update(readings)
        players = [dict(zip(PLAYERS, player, strict=True)) for player in rows.players]
        signs = signs_of(table.unit, rows)
        scores = [float(score) for score in table.scores if score is not None]
        number = players[0]["rounds_played"] if players and table.scores else len(unique(signs[1]))
        return {
            "reason": (ended_early(load(table.facts)) if table.facts else None) or table.reason,
            "rounds": number,
            "scores": _json(list(table.scores)) if table.scores else None,
            "score": sum(scores) / len(scores) if scores else None,
            **strips_of(table.unit, signs),
            "readings": _json(dict(sorted(readings.items()))),
            "complaints": sum(player["complaints"] for player in players),
            "policies": readings["policy"] + readings["refused"],
        }

    # -- asking --------------------------------------------------------------------------------------

    def cells(self) -> dict[int, dict[str, Any]]:
        """The cells that occur, by number, each as a mapping from factors to levels."""
        return {number: orjson.loads(levels) for levels, number in self._cells.items()}

    def players(self, what: str) -> list[str]:
        """The agents, roles or models that occur in the list."""
        return sorted(self._seated[what])

    def models_tell_agents(self) -> bool:
        """Whether each model belongs to one agent and each agent to one model: filtering by either is then the same."""
        models = {agent for agent, model in self._models if model is not None}
        own = [pair for pair in self._models if pair[0] in models]
        return len(own) == len(models) == len({model for _, model in own})

    def known(self, column: str) -> list[Any]:
        """The values that occur in the column state, outcome or kind."""
        if column not in ("state", "outcome", "kind"):
            raise UnknownName("column", column, ["state", "outcome", "kind"])
        return [
            value
            for (value,) in self.connection.execute(
                f"SELECT DISTINCT {column} FROM matches WHERE {column} IS NOT NULL ORDER BY 1"
            )
        ]

    def readings(self) -> list[str]:
        """The readings of answers that occur in any match."""
        return sorted(self._readings)

    def count(self, filters: MatchFilters | None = None) -> int:
        """How many matches pass the filters."""
        where, values = self._where(filters or MatchFilters())
        return int(self.connection.execute(f"SELECT count(*) FROM listed WHERE {where}", values).fetchone()[0])

    def matches(
        self,
        filters: MatchFilters | None = None,
        *,
        sort: str = "match",
        descending: bool = False,
        after: str | None = None,
        limit: int = 200,
    ) -> MatchPage:
        """One page of the matches that pass the filters, sorted; ``after`` comes from the previous page."""
        if sort not in SORTS:
            raise UnknownName("column", sort, SORTS)
        where, values = self._where(filters or MatchFilters())
        if after is not None:
            more, bound = _beyond(sort, descending, after)
            where, values = f"{where} AND {more}", [*values, *bound]
        way, limit = "DESC" if descending else "ASC", max(1, min(limit, MOST_ROWS))
        order = f"match {way}" if sort == "match" else f"{sort} {way}, match {way}"
        rows = list(self._rows(f"SELECT * FROM listed WHERE {where} ORDER BY {order} LIMIT {limit + 1}", values))
        more_rows, rows = len(rows) > limit, rows[:limit]
        place = orjson.dumps([rows[-1][sort], rows[-1]["match"]]).decode() if more_rows else None
        if self.progress.calls < self.progress.of_calls:  # partial sums are not shown
            rows = [{**row, **dict.fromkeys(COUNTED)} for row in rows]
        return MatchPage(rows, place)

    def match(self, number: int) -> dict[str, Any] | None:
        """The row of one match; None if it is not listed."""
        return next(self._rows("SELECT * FROM listed WHERE match=?", [number]), None)

    def _rows(self, query: str, values: Sequence[Any]) -> Iterator[dict[str, Any]]:
        cells = self.cells()
        cursor = self.connection.execute(query, values)
        names = [column[0] for column in cursor.description]
        for values in cursor:
            row = dict(zip(names, values, strict=True))
            for name in ("agents", "scores", "strips", "readings"):
                row[name] = None if row[name] is None else orjson.loads(row[name])
            yield {**row, "levels": cells.get(row["cell"], {})}

    def _where(self, filters: MatchFilters) -> tuple[str, list[Any]]:
        for column in (*filters.least, *filters.most):
            if column not in NUMBERS:
                raise UnknownName("column of numbers", column, NUMBERS)
        names = ("cell", "state", "outcome", "kind", "game", "mechanism")
        wanted = {column: value for name, column in SEATED.items() if (value := getattr(filters, name)) is not None}
        fits = " AND ".join(f"json_extract({column}, p.fullkey)=?" for column in wanted)
        cells = ", ".join(map(str, self.cells_with(filters.levels)))
        conditions: list[tuple[bool, str, list[Any]]] = [
            (True, "true", []),
            *((getattr(filters, name) is not None, f"{name}=?", [getattr(filters, name)]) for name in names),
            (bool(filters.levels), f"cell IN ({cells})", []),
            (bool(wanted), f"EXISTS (SELECT 1 FROM json_each(agents) p WHERE {fits})", [*wanted.values()]),
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
        values = [value for applies, _, some in conditions if applies for value in some]
        return " AND ".join(condition for applies, condition, _ in conditions if applies), values

    def cells_with(self, levels: Mapping[str, str]) -> list[int]:
        """The numbers of the cells in which every named factor has the given level."""
        return [
            number
            for number, cell in self.cells().items()
            if all(name in cell and str(cell[name]) == level for name, level in levels.items())
        ]


def _beyond(sort: str, descending: bool, after: str) -> tuple[str, list[Any]]:
    """The SQL condition for the rows after a place; NULL values come first, or last in descending order."""
    try:
        value, match = orjson.loads(after)
        large = any(isinstance(number, int) and abs(number) >= 2**63 for number in (value, match))
        if type(match) is not int or not isinstance(value, int | float | str | None) or large:
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


# -- strips --------------------------------------------------------------------------------------------

Signs = tuple[NDArray[int64], NDArray[int64], NDArray[uint32]]
"""Three arrays of equal length: the player, the round, and a sign (a code point) for the player's action in it."""
C, D, DOT = map(ord, "CD·")


def signs_of(unit: Unit, rows: UnitRows) -> Signs:
    """Every player's action in every round, as a sign: C or D where the game says what cooperating is, a digit from
    0 to 9 for an amount (its share of the largest), else the letter of the action (a, b, ...), and a dot where the
    round is void or the player had nothing to decide."""
    game, width = unit.game, max(1, len(rows.came))
    if rows.rounds_kept is not None:
        settled = rows.round_rows()
        done = [
            DOT
            if one[4] is None
            else ord(sign_of(unit, one[1], game.index(one[1], one[4] if one[5] is None else one[5])))
            for one in settled.settled
        ]
        lost = array([one[3] == "not reached" for one in settled.settled], dtype=bool)[settled.codes]
        took_place = ~(lost & (settled.tables < 0))
        codes = settled.codes[took_place]
        players = array([one[0] for one in settled.settled], dtype=int64)[codes]
        return players, settled.numbers[took_place], array(done, dtype=uint32)[codes]
    pairs, places = unique(rows.asked_codes * width + rows.came_codes, return_inverse=True)
    signs = array(
        [_sign(unit, rows.asked[pair // width], rows.came[pair % width]) for pair in pairs.tolist()], dtype=uint32
    )[places]
    players = array([turn[0] for turn in rows.asked], dtype=int64)[rows.asked_codes]
    ends = signs > 0
    players, rounds, signs = players[ends], rows.rounds[ends], signs[ends]
    if game.has_table:
        return players, rounds, signs
    signs[isin(rounds, rounds[signs == DOT])] = DOT
    if players.max(initial=0) < game.seats:
        moved = set(zip(players.tolist(), rounds.tolist(), strict=True))
        idle = [(p, n, DOT) for n in unique(rounds).tolist() for p in range(game.seats) if (p, n) not in moved]
        more = array(idle, dtype=int64).reshape(-1, 3).T
        players, rounds = concatenate([players, more[0]]), concatenate([rounds, more[1]])
        signs, order = concatenate([signs, more[2].astype(uint32)]), argsort(rounds, kind="stable")
        players, rounds, signs = players[order], rounds[order], signs[order]
    return players, rounds, signs


def _sign(unit: Unit, turn: tuple[Any, ...], came: tuple[Any, ...]) -> int:
    """The sign for the outcome of a decision; 0 if the decision ends no round of the player."""
    result = dict(zip(OUTCOMES, came, strict=True))
    if turn[3] != "act" or turn[4] or result["payoff"] is None:
        return 0
    value = result["action"] if result["amount"] is None else result["amount"]
    return DOT if value is None else ord(sign_of(unit, turn[1], unit.game.index(turn[1], value)))


def sign_of(unit: Unit, seat: int, action: int) -> str:
    """The sign of an action: C, D, a digit for an amount, a letter, a dot for having nothing to decide, or #."""
    options = unit.game.actions[seat]
    if isinstance(options, Amounts) and action < options.levels:
        return str(round(9 * action / max(1, options.levels - 1)))
    if options[action] == IDLE:
        return "·"
    cooperates = unit.game.cooperates(seat, action)
    if cooperates is not None:
        return "C" if cooperates else "D"
    return chr(ord("a") + action) if action < 26 else "#"


def strips_of(unit: Unit, signs: Signs) -> dict[str, Any]:
    """The columns of the list that follow from the signs: strips, outcome, first defection and cooperation."""
    players, rounds, marks = signs
    strips = [
        marks[players == player].astype("<u4").tobytes().decode("utf-32-le")
        for player in range(min(len(unit.players), MOST_STRIPS))
    ]
    cooperated, defected = int((marks == C).sum()), marks == D
    decided = cooperated + int(defected.sum())
    return {
        "strips": _json([strip[:LONGEST_STRIP] for strip in strips]),
        "outcome": "".join(strip[-1:] for strip in strips[:8]) or None,
        "first_defection": int(rounds[defected].min()) if defected.any() else None,
        "cooperation": cooperated / decided if decided else None,
    }


def _readings(journal: Journal, table: UnitTable) -> Counter[str]:
    """How often every reading occurs in a match."""
    rows = table.rows
    if rows.said is None:  # answers that are not kept with the rows are journaled one by one
        return Counter(journal.readings(table.unit.index))
    counts, place = Counter[str](), list(ANSWERS).index("reading")
    for answer, count in zip(rows.said, bincount(rows.said_codes, minlength=len(rows.said)), strict=True):
        counts[str(answer[place])] += int(count)
    return +counts


def _json(data: Any) -> str:
    return orjson.dumps(data, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS, default=str).decode()
