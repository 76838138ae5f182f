"""The words of a run: prompts, replies and reasoning, put into the full-text index in the order of the calls.

Of a prompt, the lines are indexed that the player's prompt before it in the same match did not have: prompts repeat
the rules and all rounds so far, and a search should find the decision at which the words came up.
"""

import re
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Container
from contextlib import suppress
from functools import lru_cache

from ostrom.engine.entries import MOST_TOGETHER, UNREADABLE, Packages, whole
from ostrom.engine.plan import Unit
from ostrom.ground.errors import OstromError
from ostrom.studies.run import Run

TOGETHER = 512
"""Calls in one transaction, and as many bytes as ``MOST_BYTES`` at the most."""
MOST_BYTES = 16_000_000
LONGEST = 1_000_000
"""Characters of one text that are indexed and searched for what to show."""
REMEMBERED = 1024
"""Players whose last prompt is kept in memory."""
REMEMBERED_LINES = 1_000_000
"""Lines of those prompts together."""

# Scripts without spaces between words: every character is a word, so a search finds any of them.
_UNSPACED = re.compile(r"([\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])")


class Speech:
    """Reads calls of a journal and puts their words into the index."""

    def __init__(
        self,
        run: Run,
        connection: sqlite3.Connection,
        cell_of: Callable[[Unit], int],
        hidden: Container[int] = (),
    ) -> None:
        self.run, self.connection, self.cell_of, self.hidden = run, connection, cell_of, hidden
        self.seal = 0
        """The seal of the last call."""
        self._prompts = Packages(self._packed)
        self._who = lru_cache(maxsize=REMEMBERED)(self._looked_up)
        self._before: OrderedDict[tuple[int, int], frozenset[int]] = OrderedDict()
        self._voices = {
            (cell, agent): number
            for number, cell, agent in connection.execute("SELECT id, cell, agent FROM voices")
        }

    def some(self, through: int) -> int:
        """Index the next calls; the last one's number."""
        query = (
            f"SELECT id, unit, step, player, prompt, nth, {beginning('reply')}, {beginning('reasoning')}, seal "
            "FROM journal.calls WHERE id > ? ORDER BY id LIMIT ?"
        )
        size, places, texts = 0, [], []
        cursor = self.connection.execute(query, (through, TOGETHER))
        for number, unit, step, player, package, nth, reply, reasoning, seal in cursor:
            through, self.seal = number, seal
            who = self._who(unit)
            if who is None:
                continue
            prompt = self._news(number, unit, player, package, nth)
            texts.append((number, spaced(prompt), spaced(decoded(reply)), spaced(decoded(reasoning))))
            cell, agents = who
            voice = self._voice(cell, agents[player] if 0 <= player < len(agents) else "")
            places.append((number, unit, step, player, voice))
            size += len(prompt) + len(reply or b"") + len(reasoning or b"")
            if size > MOST_BYTES:
                break
        cursor.close()
        self.connection.executemany("INSERT INTO spoken VALUES (?,?,?,?,?)", places)
        self.connection.executemany(
            "INSERT INTO words (rowid, prompt, reply, reasoning) VALUES (?,?,?,?)", texts
        )
        return through

    def _looked_up(self, number: int) -> tuple[int, tuple[str, ...]] | None:
        """The cell of a unit and the names of its players; None for one that is not shown."""
        withdrawn = self.connection.execute(
            "SELECT 1 FROM journal.units WHERE unit=? AND state='withdrawn'", (number,)
        ).fetchone()
        if withdrawn is None and number not in self.hidden and 0 <= number < len(self.run.plan):
            with suppress(OstromError):
                unit = self.run.plan.unit(number)
                return self.cell_of(unit), tuple(seated.name for seated in unit.players)
        return None

    def _voice(self, cell: int, agent: str) -> int:
        number = self._voices.get((cell, agent))
        if number is None:
            number = self._voices[cell, agent] = len(self._voices) + 1
            self.connection.execute("INSERT INTO voices VALUES (?, ?, ?)", (number, cell, agent))
        return number

    def _news(self, call: int, unit: int, player: int, package: int, nth: int) -> str:
        """The lines of a prompt that the one before it did not have."""
        lines = self._lines(package, nth)
        before = self._before.get((unit, player))
        if before is None:
            row = self.connection.execute(
                "SELECT prompt, nth FROM journal.calls WHERE unit=? AND player=? AND id<? ORDER BY id DESC LIMIT 1",
                (unit, player, call),
            ).fetchone()
            before = frozenset() if row is None else _hashes(self._lines(*row))
        self._before.pop((unit, player), None)
        self._before[unit, player] = _hashes(lines)
        while len(self._before) > 1 and sum(map(len, self._before.values())) > REMEMBERED_LINES:
            self._before.popitem(last=False)
        if len(self._before) > REMEMBERED:
            self._before.popitem(last=False)
        return "\n".join(line for line in lines if hash(line) not in before)[:LONGEST]

    def _lines(self, package: int, nth: int) -> list[str]:
        try:
            messages = whole(package, nth, self._prompts)
        except UNREADABLE:
            return []
        return text_of(messages)[:MOST_TOGETHER].split("\n")

    def _packed(self, package: int) -> bytes:
        row = self.connection.execute("SELECT texts FROM journal.prompts WHERE id=?", (package,)).fetchone()
        return b"" if row is None else bytes(row[0])


def _hashes(lines: list[str]) -> frozenset[int]:
    return frozenset(map(hash, lines))


def text_of(messages: list[list[str]]) -> str:
    """The messages of a prompt as one text."""
    return "\n".join(content for _, content in messages)


def spaced(text: str | None) -> str | None:
    """A text as it is indexed: with spaces around every character of a script that has none.

    >>> spaced("wir 合作 oft")
    'wir  合  作  oft'
    """
    return text if text is None or text.isascii() else _UNSPACED.sub(r" \1 ", text)


def beginning(column: str) -> str:
    """SQL for the beginning of a text, as bytes: a text in SQLite ends at its first NUL."""
    return f"substr(CAST({column} AS BLOB), 1, {LONGEST})"


def decoded(raw: bytes | None) -> str | None:
    """Bytes of a text; what is no UTF-8 is replaced."""
    return None if raw is None else raw.decode("utf-8", "replace").replace("\0", " ")
