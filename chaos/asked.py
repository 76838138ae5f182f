"""A server that keeps its own books while the client is killed: no answered call is asked again.

No two calls of the study have the same body, so the server can tell one from another. For each it notes whether the
reply was sent, and whether the client had read it: it then sent another request over the connection, or its end closed
it without a reset (a process that dies with unread bytes resets it). After each kill the journal is compared with these
books: what stands in the books alone was under way at the kill. At the end the tables are compared with those of a run
that met no fault and no kill.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson
from tests.run_tables import tables

from chaos.faults import UNREADABLE, WAYS
from chaos.finding import Finding, verdict
from chaos.kills import LATENCY, kill_once, moody
from chaos.player import StallingServer, processes, start
from ostrom.engine.journal import Journal
from ostrom.testing.faults import Faults
from ostrom.testing.http1 import Received, ServedConnection

KILLS, SHORT_KILLS = 60, 4
SHARE = 0.3
TIMEOUT = 0.5
"""Seconds after which the client gives up on a server that never answers."""
KINDS = tuple(way for way in WAYS if way not in UNREADABLE)
"""Two replies that cannot be read for the same reason would lead to two questions of the same body."""
CALLS_A_DECISION = 1.2
"""One reply in six cannot be read."""


@dataclass(slots=True, eq=False)
class Asked:
    """One request in the books of the server."""

    session: int
    call: str
    """The hash of its body."""
    fault: str | None = None
    sent: bool = False
    """Whether the last byte of the reply was handed to the network."""
    read: bool = False
    """Whether the client had taken all of it."""


class Connection(ServedConnection):
    """A connection that knows how it ended."""

    clean = False

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone: without an error it had read everything."""
        self.clean = exc is None
        super().connection_lost(exc)


class Bookkeeper(StallingServer):
    """A loopback server that keeps books."""

    def __init__(self, share: float) -> None:
        faults = Faults({way: share / len(KINDS) for way in KINDS}, retry_after="0.01")
        super().__init__(moody, latency=LATENCY, faults=faults, record=False)
        self.session = 0
        self.books: list[Asked] = []
        self._last: dict[ServedConnection, Asked] = {}

    def _connection(self) -> ServedConnection:
        connection = Connection(self._handle, self._lost)
        self._open.add(connection)
        return connection

    def _handle(self, received: Received, connection: ServedConnection) -> None:
        if (before := self._last.get(connection)) is not None:
            before.read = True
        self._last[connection] = asked = Asked(self.session, _of_body(received.body))
        self.books.append(asked)
        super()._handle(received, connection)

    def _reply(self, data: bytes, connection: ServedConnection, fault: str | None) -> None:
        asked = self._last.get(connection)
        there = connection in self._waiting and (self.stall_at is None or self.count < self.stall_at)
        super()._reply(data, connection, fault)
        if asked is not None:
            asked.fault, asked.sent = fault, there and fault not in ("hang", "reset", "cut_body")

    def _lost(self, connection: ServedConnection) -> None:
        asked = self._last.pop(connection, None)
        if asked is not None and isinstance(connection, Connection):
            asked.read = asked.sent and connection.clean
        super()._lost(connection)

    def settle(self) -> None:
        """Wait until every connection of a dead client is closed."""
        deadline = time.monotonic() + 10
        while self._open and time.monotonic() < deadline:
            time.sleep(0.002)


def run(short: bool, seed: int) -> list[Finding]:
    """All kills on one study."""
    return [kept_books(SHORT_KILLS if short else KILLS, matches=8 if short else 48, seed=seed)]


def kept_books(kills: int, matches: int, rounds: int = 15, share: float = SHARE, seed: int = 0) -> Finding:
    """Kill a study, compare the journal with the books after each kill, let it end, and compare them once more."""
    check = f"{share:.0%} faults and kills: same tables, no answered call asked again by the server's own count"
    context, chance, books, server = (processes(), random.Random(f"{share} {seed}"), _Books(), Bookkeeper(share))
    with server, tempfile.TemporaryDirectory() as home:
        study, faults, server.faults = study_of(server.model, matches, rounds), server.faults, Faults()
        calm = start(context, study, Path(home) / "calm")
        calm.join(300)
        if calm.exitcode != 0:
            return verdict("asked", check, 0, False, f"undisturbed it ended with {calm.exitcode}")
        server.settle()
        server.books, server.faults = [], faults
        journal = Path(home) / "run" / "journal.db"
        spare = round(CALLS_A_DECISION * rounds * matches / (1 - share))
        for left in range(kills, 0, -1):
            server.session = kills - left
            quota = 1 + chance.randrange(max(1, spare // (left + 1)))
            spare -= quota
            if not kill_once(context, server, study, Path(home), quota, chance):
                return verdict("asked", check, kills - left, False, "it ended before it was killed")
            server.settle()
            books.compare(server, journal, killed=True)
        server.session, server.stall_at = kills, None
        last = start(context, study, Path(home))
        last.join(300)
        if last.exitcode != 0:
            return verdict("asked", check, kills, False, f"the last session ended with {last.exitcode}")
        server.settle()
        books.compare(server, journal, killed=False)
        same = tables(Path(home) / "run", Path(home) / "a") == tables(Path(home) / "calm" / "run", Path(home) / "b")
        note = books.note(server) if same else f"tables differ; {books.note(server)}"
        return verdict("asked", check, kills, same and not books.problems(server), note)


class _Books:
    """The comparison of the journal with the books of the server, session by session."""

    def __init__(self) -> None:
        self.tries: Counter[str] = Counter()
        """Tries in the journal so far, by call."""
        self.answered: Counter[str] = Counter()
        self.again: list[str] = []
        """Calls that were asked although the journal held their answer."""
        self.lost: list[Asked] = []
        """Requests that were under way at a kill."""
        self.strange = 0
        """Tries in the journal that the server knows nothing of."""
        self.most = 0
        """The most requests that were under way at one kill."""
        self.left_over = 0
        """Requests of the session that nobody killed which are not in the journal."""

    def compare(self, server: Bookkeeper, journal: Path, killed: bool) -> None:
        """Compare one session; whatever it asked is in the journal, or was under way when it was killed."""
        asked = [entry for entry in server.books if entry.session == server.session]
        self.again += [entry.call for entry in asked if self.answered[entry.call]]
        tries, answered = journaled(journal)
        new = tries - self.tries
        missing = Counter(entry.call for entry in asked) - new
        # Tries that the server never saw failed before they reached it: a connection it reset while it was made.
        self.strange += (new - Counter(entry.call for entry in asked)).total()
        under_way = []
        for entry in reversed(asked):  # of several tries at one call the last was under way
            if missing[entry.call]:
                missing[entry.call] -= 1
                under_way.append(entry)
        if killed:
            self.lost += under_way
            self.most = max(self.most, len(under_way))
        else:
            self.left_over = len(under_way)
        self.tries, self.answered = tries, answered

    def problems(self, server: Bookkeeper) -> list[str]:
        """What does not agree."""
        found = []
        if self.again:
            found.append(f"{len(self.again)} answered calls asked again")
        if max(self.answered.values(), default=1) > 1:
            found.append("an answer is in the journal twice")
        if self.tries.total() - self.strange + len(self.lost) != len(server.books):
            found.append("the counts differ")
        if self.left_over:
            found.append(f"{self.left_over} requests of the last session are not in the journal")
        if not server.fault_counts or not self.lost:
            found.append("nothing was tried")
        return found

    def note(self, server: Bookkeeper) -> str:
        """The figures."""
        read = sum(entry.read for entry in self.lost)
        sent = sum(entry.sent for entry in self.lost) - read
        unsent = len(self.lost) - read - sent
        return "; ".join(
            [
                *self.problems(server),
                f"{len(server.books)} requests at the server, {server.fault_counts.total()} with a fault",
                f"{self.tries.total()} tries in the journal, {self.answered.total()} of them answered",
                f"{len(self.lost)} under way at a kill ({unsent} not answered yet, {sent} answered and not read, "
                f"{read} read and not yet in the journal), at most {self.most} at once",
                f"{len(self.again)} answered calls asked again",
            ]
        )


def journaled(path: Path) -> tuple[Counter[str], Counter[str]]:
    """The tries of a journal and those that were answered, by call."""
    tries, answered = Counter[str](), Counter[str]()
    if path.exists() and path.stat().st_size:  # else it was killed before it could begin
        with Journal(path) as journal:
            for row in journal.call_rows("run"):
                call = _hash(orjson.loads(row["params"])["seed"], journal.prompt(row["id"]))
                tries[call] += 1
                answered[call] += row["error"] is None
    return tries, +answered


def _of_body(data: bytes) -> str:
    body = orjson.loads(data)
    return _hash(body["seed"], [[message["role"], message["content"]] for message in body["messages"]])


def _hash(seed: int, messages: object) -> str:
    return blake2b(orjson.dumps([seed, messages]), digest_size=16).hexdigest()


def study_of(model: str, matches: int, rounds: int) -> dict[str, Any]:
    """A study of one match for each level; the parameter ``seed`` tells their prompts apart."""
    return {
        "name": "asked",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": rounds},
        "agent": {"style": "direct", "settings": {"timeout": TIMEOUT}},
        "types": {"model": {"model": model}},
        "seats": {2: {"strategy": "tit_for_tat"}},
        "seating": "ordered",
        "vary": {"draw": {"set": "agent.params.seed", "to": list(range(matches))}},
        "seeds": 1,
        "invalid": {"retries": 50, "policy": "fail"},
    }
