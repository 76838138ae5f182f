"""The words of a run: prompts, replies and reasoning, put into the index in the order of the calls.

A word is stored in lower case and without accents. Of a prompt, only the lines are indexed that the player's previous
prompt in the same match did not have: prompts repeat the rules and all rounds so far, and a search should find the
decision at which the words came up.
"""

import re
import sqlite3
import unicodedata
from collections import OrderedDict
from functools import lru_cache

from ostrom.engine.entries import MOST_TOGETHER, UNREADABLE, Packages, resolve_prompt

LONGEST = 1_000_000
"""The length to which one text is indexed and searched, in bytes."""
REMEMBERED = 1024
"""Players whose last prompt is kept in memory."""
REMEMBERED_LINES = 1_000_000
"""Lines of those prompts together."""
PLACES = ("prompt", "reply", "reasoning")
"""The texts of a call that hold words, in the order of their rows in the index."""
PLACE = 1 << 60
"""Text i of a call has the row i * PLACE + call: SQLite stores the steps between rows, and these are short ones."""
_WORD = re.compile(r"[^\W_]+")
_ASCII_WORD = re.compile(r"[^\x00-/:-@\[-`{-\x7f]+")
"""A word as the index cuts it: letters and digits of ASCII, and everything beyond ASCII."""
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
# Scripts without spaces between words: every character is a word, so that a search finds any of them.
_UNSPACED = re.compile(r"([\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])")


def split_unspaced_scripts(text: str) -> str:
    """Put spaces around every character of a script that has no spaces.

    >>> split_unspaced_scripts("wir 合作 oft")
    'wir  合  作  oft'
    """
    return text if text.isascii() else _UNSPACED.sub(r" \1 ", text)


def normalised(word: str) -> str:
    """Normalise a word for the index: lower case without accents.

    >>> normalised("Überläufer")
    'uberlaufer'
    """
    return (
        word.lower()
        if word.isascii()
        else "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)).lower()
    )


def indexable(text: str) -> str:
    """Return a text in which SQLite's ASCII tokenizer finds the same words as ``words_in``."""
    return text if text.isascii() else _FOREIGN.sub(lambda run: _ascii_neighbour(run[0]), text)


@lru_cache(maxsize=65_536)
def _ascii_neighbour(run: str) -> str:
    """Normalise a run of non-ASCII characters: letters lose case and accents, anything that is no letter is a space."""
    return "".join(normalised(c) if _WORD.match(c) else " " for c in split_unspaced_scripts(run))


def words_in(text: str) -> list[str]:
    """The words of a text, in order.

    >>> words_in("Never_again: 'Überall' 合作!")
    ['never', 'again', 'uberall', '合', '作']
    """
    return _ASCII_WORD.findall(indexable(text).lower())


class NewLines:
    """The new lines of prompts, each compared with the same player's prompt before it.

    The lines of a prompt are held by message: most messages are those of the prompt before, and are not cut again.
    """

    def __init__(self, journal: sqlite3.Connection) -> None:
        self._journal = journal
        self._prompts = Packages(self._packed)
        self._before: OrderedDict[tuple[int, int], dict[str, dict[str, None]]] = OrderedDict()
        self._lines = 0

    def new_lines(self, call: int, unit: int, player: int, package: int, nth: int) -> str:
        """Return the lines of a call's prompt that the player's previous prompt lacks."""
        before = self._before.pop((unit, player), None)
        if before is None:
            row = self._journal.execute(
                "SELECT prompt, nth FROM calls WHERE unit=? AND player=? AND id<? ORDER BY id DESC LIMIT 1",
                (unit, player, call),
            ).fetchone()
            before = {} if row is None else self._lines_of({}, *row)
        else:
            self._lines -= _count(before)
        lines = self._before[unit, player] = self._lines_of(before, package, nth)
        self._lines += _count(lines)
        while len(self._before) > REMEMBERED or (self._lines > REMEMBERED_LINES and len(self._before) > 1):
            self._lines -= _count(self._before.popitem(last=False)[1])
        new = dict.fromkeys(line for text, own in lines.items() if text not in before for line in own)
        old = set[str]().union(*before.values())
        return "\n".join([line for line in new if line not in old])[:LONGEST]

    def alone(self, call: int, unit: int, player: int, package: int, nth: int) -> str:
        """Return the new lines of a prompt for calls in any order: the previous prompt is read from the journal."""
        self._lines -= _count(self._before.pop((unit, player), {}))
        return self.new_lines(call, unit, player, package, nth)

    def _lines_of(self, before: dict[str, dict[str, None]], package: int, nth: int) -> dict[str, dict[str, None]]:
        """Return the lines of a prompt by message, those of an earlier one again; it is empty if it cannot be read."""
        try:
            texts = [text for _, text in resolve_prompt(package, nth, self._prompts)]
        except UNREADABLE:
            texts = []
        if sum(map(len, texts)) + len(texts) > MOST_TOGETHER:
            texts = ["\n".join(texts)[:MOST_TOGETHER]]
        return {text: before.get(text) or dict.fromkeys(text.split("\n")) for text in texts or [""]}

    def _packed(self, package: int) -> bytes:
        row = self._journal.execute("SELECT texts FROM prompts WHERE id=?", (package,)).fetchone()
        return b"" if row is None else bytes(row[0])


def _count(lines: dict[str, dict[str, None]]) -> int:
    return sum(map(len, lines.values()))


def beginning(column: str) -> str:
    """Return SQL for the beginning of a text as bytes, because SQLite texts end at a NUL."""
    return f"substr(CAST({column} AS BLOB), 1, {LONGEST})"


def decoded(raw: bytes | None) -> str | None:
    """The text of these bytes; bytes that are not UTF-8 are replaced, and NUL characters are spaces."""
    return None if raw is None else raw.decode("utf-8", "replace").replace("\0", " ")
