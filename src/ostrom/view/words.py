"""The words of a run: prompts, replies and reasoning, put into the index in the order of the calls, segment by segment.

Of a prompt, the lines are indexed that the player's prompt before it in the same match did not have: prompts repeat
the rules and all rounds so far, and a search should find the decision at which the words came up.
"""

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Container
from contextlib import suppress
from functools import lru_cache, partial

import numpy as np
import orjson

from ostrom.engine.entries import MOST_TOGETHER, UNREADABLE, Packages, whole
from ostrom.ground.errors import OstromError
from ostrom.studies.run import Run
from ostrom.view.postings import Postings, packed_voices

TOGETHER = 512
"""Calls that are read at a time, and as many bytes as ``MOST_BYTES`` at the most."""
MOST_BYTES = 16_000_000
LONGEST = 1_000_000
"""Bytes of one text that are indexed and searched for what to show."""
SEGMENT = 65_536
"""Calls of a segment at the most."""
MOST_WORDS = 10_000_000
"""Words after which a segment ends."""
REMEMBERED = 1024
"""Players whose last prompt is kept in memory."""
REMEMBERED_LINES = 1_000_000
"""Lines of those prompts together."""
LETTERS = {"prompt": "p", "reply": "r", "reasoning": "t"}
"""The places of words, and the letter before a word of each."""


class PromptNews:
    """What is new in the prompts of a journal, each compared with the prompt of the same player before it."""

    def __init__(self, journal: sqlite3.Connection) -> None:
        self._journal = journal
        self._prompts = Packages(self._packed)
        self._before: OrderedDict[tuple[int, int], dict[str, None]] = OrderedDict()
        self._lines = 0

    def of(self, call: int, unit: int, player: int, package: int, nth: int) -> str:
        """The lines of a call's prompt that the one before it did not have."""
        lines = dict.fromkeys(self.text(package, nth).split("\n"))
        before = self._before.pop((unit, player), None)
        if before is None:
            query = (
                "SELECT prompt, nth FROM calls WHERE unit=? AND player=? AND id<? ORDER BY id DESC LIMIT 1"
            )
            row = self._journal.execute(query, (unit, player, call)).fetchone()
            before = {} if row is None else dict.fromkeys(self.text(*row).split("\n"))
        else:
            self._lines -= len(before)
        self._before[unit, player] = lines
        self._lines += len(lines)
        while len(self._before) > REMEMBERED or (self._lines > REMEMBERED_LINES and len(self._before) > 1):
            self._lines -= len(self._before.popitem(last=False)[1])
        return "\n".join([line for line in lines if line not in before])[:LONGEST]

    def alone(self, call: int, unit: int, player: int, package: int, nth: int) -> str:
        """The same of a call in any order: the prompt before it is looked up."""
        self._lines -= len(self._before.pop((unit, player), ()))
        return self.of(call, unit, player, package, nth)

    def text(self, package: int, nth: int) -> str:
        """The messages of a prompt as one text; nothing where it cannot be read."""
        try:
            return text_of(whole(package, nth, self._prompts))[:MOST_TOGETHER]
        except UNREADABLE:
            return ""

    def _packed(self, package: int) -> bytes:
        row = self._journal.execute("SELECT texts FROM prompts WHERE id=?", (package,)).fetchone()
        return b"" if row is None else bytes(row[0])


class Speech:
    """Reads calls of a journal and puts their words into the index."""

    def __init__(
        self, run: Run, connection: sqlite3.Connection, number: int, journal: sqlite3.Connection, hidden: Container[int]
    ) -> None:  # fmt: skip
        self.run, self.connection, self.number, self.journal, self.hidden = (
            run,
            connection,
            number,
            journal,
            hidden,
        )
        self._news = PromptNews(journal)
        self._who = lru_cache(maxsize=REMEMBERED)(self._looked_up)
        self._voice = lru_cache(maxsize=None)(partial(_number, connection, "voices", "cell, agent"))
        self._cell = lru_cache(maxsize=None)(partial(_number, connection, "cells", "levels"))

    def segment(self, through: int, stop: Callable[[], bool]) -> int | None:
        """Index the calls behind one as a segment; the last one's number, or None if it was stopped or has none."""
        postings = {name: Postings() for name in LETTERS}
        first, voices, last_seal = 0, list[int](), 0
        while not voices or (
            len(voices) < SEGMENT and sum(part.size for part in postings.values()) < MOST_WORDS
        ):
            if stop():
                return None
            before = through
            texts: dict[str, list[bytes]] = {name: [] for name in LETTERS}
            size = 0
            cursor = self.journal.execute(
                f"SELECT id, unit, player, prompt, nth, {beginning('reply')}, {beginning('reasoning')}, seal "
                "FROM calls WHERE id > ? ORDER BY id LIMIT ?",
                (through, TOGETHER),
            )
            for number, unit, player, package, nth, reply, reasoning, seal in cursor:
                first = first or number
                if number - first >= SEGMENT:
                    break
                gap = number - first - len(voices)
                who = self._who(unit)
                prompt, voice = "", 0
                if who is not None:
                    cell, agents = who
                    voice = self._voice(cell, agents[player] if 0 <= player < len(agents) else "")
                    prompt = self._news.of(number, unit, player, package, nth)
                shown = (
                    (prompt.encode("utf-8", "replace"), reply or b"", reasoning or b"")
                    if voice
                    else (b"",) * 3
                )
                for name, text in zip(LETTERS, shown, strict=True):
                    texts[name] += [*[b""] * gap, text]
                    size += len(text)
                voices += [*[0] * gap, voice]
                through, last_seal = number, seal
                if size > MOST_BYTES:
                    break
            cursor.close()
            if through == before:
                break
            for name, some in texts.items():
                postings[name].add(some)
        if not voices:
            return None
        span = len(voices)
        with self.connection:
            packed = packed_voices(np.array(voices))
            self.connection.execute(
                "INSERT INTO segments VALUES (?, ?, ?)", (first, first + span - 1, packed)
            )
            for name, letter in sorted(LETTERS.items(), key=lambda pair: pair[1]):
                self.connection.executemany(
                    "INSERT INTO postings VALUES (?, ?, ?)",
                    ((first, letter + word, hits) for word, hits in postings[name].lists(span)),
                )
            self.connection.execute(
                "UPDATE journals SET calls=?, seal=? WHERE number=?", (through, last_seal, self.number)
            )
        return through

    def _looked_up(self, number: int) -> tuple[int, tuple[str, ...]] | None:
        """The cell of a unit and the names of its players; None for one that is not shown."""
        if number not in self.hidden and 0 <= number < len(self.run.plan):
            with suppress(OstromError):
                unit = self.run.plan.unit(number)
                levels = orjson.dumps(
                    dict(unit.cell), default=str, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
                ).decode()
                return self._cell(levels), tuple(seated.name for seated in unit.players)
        return None


def _number(connection: sqlite3.Connection, table: str, columns: str, *values: object) -> int:
    """The number of a row of a table, which is added if it is new."""
    places = ", ".join("?" * len(values))
    row = connection.execute(f"SELECT id FROM {table} WHERE ({columns})=({places})", values).fetchone()
    if row is None:
        row = connection.execute(
            f"INSERT INTO {table} ({columns}) VALUES ({places}) RETURNING id", values
        ).fetchone()
    return int(row[0])


def text_of(messages: list[list[str]]) -> str:
    """The messages of a prompt as one text."""
    return "\n".join(content for _, content in messages)


def beginning(column: str) -> str:
    """SQL for the beginning of a text, as bytes: a text in SQLite ends at its first NUL."""
    return f"substr(CAST({column} AS BLOB), 1, {LONGEST})"


def decoded(raw: bytes | None) -> str | None:
    """Bytes of a text; what is no UTF-8 is replaced."""
    return None if raw is None else raw.decode("utf-8", "replace").replace("\0", " ")
