"""The words of a static copy: an index without a server, as scripts of a few hundred kilobytes.

Words are collected in a full-text index of SQLite, which sorts them on disk, and written in order: shard after shard,
each word with the calls that hold it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from ostrom.view.spoken import spaced

SHARD = 300_000
"""Bytes after which a new shard is begun."""
MOST_CALLS = 20_000
"""Calls that are listed for one word; of a word in more of them the rest is only counted."""
LONGEST_WORD = 64


class WordShards:
    """Collects the words of all calls, then writes them."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)
        self.connection.execute("PRAGMA journal_mode=OFF")
        self.connection.execute("PRAGMA synchronous=OFF")
        self.connection.execute(
            "CREATE VIRTUAL TABLE words USING fts5 "
            "(text, content='', columnsize=0, detail=none, tokenize='unicode61 remove_diacritics 2')"
        )
        self.connection.execute("CREATE VIRTUAL TABLE listed USING fts5vocab (words, instance)")

    def add(self, call: int, *texts: str | None) -> None:
        """The words of one call."""
        text = spaced("\n".join(text for text in texts if text))
        self.connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (call + 1, text))

    def write(self, folder: Path, put: Callable[[str, str, Any], None]) -> list[str]:
        """Write all shards; the first word of each."""
        self.connection.commit()
        firsts: list[str] = []
        shard: dict[str, list[Any]] = {}
        size = 0
        for word, count, calls in self._words():
            shard[word] = [count, calls]
            size += len(word) + len(calls) + 8
            if size > SHARD:
                firsts.append(next(iter(shard)))
                put(f"{folder.name}/{len(firsts) - 1}.js", f"words{len(firsts) - 1}", shard)
                shard, size = {}, 0
        if shard:
            firsts.append(next(iter(shard)))
            put(f"{folder.name}/{len(firsts) - 1}.js", f"words{len(firsts) - 1}", shard)
        self.connection.close()
        return firsts

    def _words(self) -> Iterator[tuple[str, int, str]]:
        """Every word in order: in how many calls it is, and the first of them as differences."""
        found = self.connection.execute("SELECT term, doc FROM listed")
        for word, rows in groupby(found, key=lambda row: row[0]):
            count, last, listed = 0, 0, list[str]()
            for _, call in rows:
                if call == last:
                    continue
                if count < MOST_CALLS:
                    listed.append(str(call - last))
                    last = call
                count += 1
            if len(word) <= LONGEST_WORD:
                yield word, count, ",".join(listed)
