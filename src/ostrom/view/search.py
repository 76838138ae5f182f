"""Search over all prompts and replies of a run: the page, and its queries.

The typed text becomes a safe query, and hits are shown in their context. Words must all occur (in one call);
``"several words"`` is a phrase, ``word*`` any word that begins so, ``-word`` one that must not occur. Nothing else has
a meaning, so nothing that is typed is an error.
"""

import re
import sqlite3
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ostrom.engine.entries import UNREADABLE, Packages, whole
from ostrom.engine.integrity import DAMAGE, connect_read_only, explain
from ostrom.engine.shards import holder
from ostrom.ground.errors import RunError
from ostrom.view.index import RunIndex
from ostrom.view.viewer import Routes, Viewer, whole_number
from ostrom.view.words import LONGEST, beginning, decoded, spaced, text_of

WHERE = ("prompt", "reply", "reasoning")
MOST_TYPED = 500
MOST_TERMS = 16
SHORTEST_START = 2
"""Letters of a beginning (``word*``): fewer begin half of all words, and joining their lists takes seconds."""
PAGE = 25
AROUND = 90
"""Characters shown on each side of a hit."""
MOST_EXCERPTS = 3
SLOWEST = 20.0
"""Seconds after which a count is given up."""

_TERM = re.compile(r'(-?)"([^"]*)"?|(-?)(\S+)')
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class SearchTerm:
    """A word or a phrase."""

    words: tuple[str, ...]
    prefix: bool = False
    without: bool = False


@dataclass(frozen=True)
class SearchHit:
    """A call in which the words occur."""

    call: int
    match: int
    step: int
    player: int
    agent: str
    cell: int
    excerpts: list[tuple[str, list[tuple[str, bool]]]]
    """Where (prompt, reply, reasoning), and the text in pieces: plain, or one of the words."""


@dataclass(frozen=True)
class SearchPage:
    """One page of hits."""

    hits: list[SearchHit]
    after: int | None


@dataclass(frozen=True)
class HitCounts:
    """How many calls hold the words."""

    total: int
    by_cell: dict[int, int]
    by_agent: dict[str, int]
    by_where: dict[str, int]


def terms_of(typed: str) -> list[SearchTerm]:
    """The words and phrases of a typed query.

    >>> [(t.words, t.prefix, t.without) for t in terms_of('"never again" trust* -war (OR')]
    [(('never', 'again'), False, False), (('trust',), True, False), (('war',), False, True), (('or',), False, False)]
    """
    terms = [
        SearchTerm(words, word.endswith("*") and len(words[-1]) >= SHORTEST_START, bool(minus or other_minus))
        for minus, phrase, other_minus, word in _TERM.findall(typed[:MOST_TYPED])
        if (words := tuple(plain(w) for w in _WORD.findall(spaced(word or phrase) or "")))
    ]
    return terms[:MOST_TERMS]


def plain(word: str) -> str:
    """A word as the index knows it: small letters without accents.

    >>> plain("Überläufer")
    'uberlaufer'
    """
    if word.isascii():
        return word.lower()
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)).lower()


def query_of(terms: Sequence[SearchTerm], where: Sequence[str] = WHERE) -> str | None:
    """The terms in the language of the index; None where there is nothing to look for."""
    wanted = [_quoted(term) for term in terms if not term.without]
    if not wanted:
        return None
    columns = " ".join(name for name in WHERE if name in where) or " ".join(WHERE)
    query = f"{{{columns}}} : ({' AND '.join(wanted)})"
    unwanted = [_quoted(term) for term in terms if term.without]
    return f"({query}) NOT ({' OR '.join(unwanted)})" if unwanted else query


def _quoted(term: SearchTerm) -> str:
    # Only letters and digits are left in words: there is nothing to escape.
    return f'"{" ".join(term.words)}"' + (" *" if term.prefix else "")


def search(
    index: RunIndex,
    journals: Sequence[Path],
    typed: str,
    *,
    where: Sequence[str] = WHERE,
    agent: str | None = None,
    cell: int | None = None,
    after: int | None = None,
    limit: int = PAGE,
) -> SearchPage:
    """The calls in which the words occur, in the order of the journals, a page at a time."""
    terms = terms_of(typed)
    query = query_of(terms, where)
    if query is None:
        return SearchPage([], None)
    more, values = _restricted(agent, cell)
    rows = _asked(
        index,
        "SELECT s.call, s.match, s.step, s.player, v.agent, v.cell FROM words JOIN spoken s ON s.call=words.rowid "
        f"JOIN voices v ON v.id=s.voice WHERE words MATCH ? AND words.rowid > ?{more} ORDER BY words.rowid LIMIT ?",
        [query, after or 0, *values, limit + 1],
    )
    wanted = [term for term in terms if not term.without]
    try:
        hits = []
        for journal, some in groupby(rows[:limit], lambda row: holder(row[0], journals)):
            with closing(connect_read_only(journal)) as connection:
                read = Packages(partial(_package, connection))
                hits += [
                    SearchHit(
                        call,
                        match,
                        step,
                        player,
                        name,
                        of,
                        list(_excerpts(connection, call, wanted, where, read)),
                    )
                    for call, match, step, player, name, of in some
                ]
    except DAMAGE as error:
        raise RunError(explain(journal, error)) from None
    return SearchPage(hits, hits[-1].call if len(rows) > limit else None)


def counts(
    index: RunIndex,
    typed: str,
    *,
    where: Sequence[str] = WHERE,
    agent: str | None = None,
    cell: int | None = None,
) -> HitCounts:
    """How many calls hold the words: in all, by cell, by agent, and by where."""
    terms = terms_of(typed)
    query = query_of(terms, where)
    if query is None:
        return HitCounts(0, {}, {}, {})
    more, values = _restricted(agent, cell)
    # A voice is a cell and an agent. Voices are few, so only one small number per hit is joined.
    rows = _asked(
        index,
        "SELECT v.cell, v.agent, c.n FROM (SELECT s.voice AS voice, count(*) AS n FROM words "
        "JOIN spoken s ON s.call=words.rowid WHERE words MATCH ? GROUP BY s.voice) c JOIN voices v ON v.id=c.voice "
        f"WHERE true{more}",
        [query, *values],
    )
    by_cell: Counter[int] = Counter()
    by_agent: Counter[str] = Counter()
    for number, name, n in rows:
        by_cell[number] += n
        by_agent[name] += n
    count = "SELECT count(*) FROM words WHERE words MATCH ?"
    by_where = {name: int(_asked(index, count, [query_of(terms, [name])])[0][0]) for name in where}
    return HitCounts(by_cell.total(), dict(by_cell), dict(by_agent), by_where)


def _restricted(agent: str | None, cell: int | None) -> tuple[str, list[Any]]:
    parts = {"v.agent": agent, "v.cell": cell}
    used = {name: value for name, value in parts.items() if value is not None}
    return "".join(f" AND {name}=?" for name in used), list(used.values())


def _asked(index: RunIndex, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    until = time.monotonic() + SLOWEST
    index.connection.set_progress_handler(lambda: time.monotonic() > until, 100_000)
    try:
        return index.connection.execute(query, values).fetchall()
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            raise RunError("this search takes too long: name more words, an agent or a cell") from None
        raise RunError(f"{index.path}: {' '.join(str(error).split())}") from None
    except DAMAGE as error:
        raise RunError(
            f"{index.path}: the index cannot be read ({error}); delete it: it is made anew"
        ) from None
    finally:
        index.connection.set_progress_handler(None, 0)


# -- context -------------------------------------------------------------------------------------------


def _excerpts(
    connection: sqlite3.Connection,
    call: int,
    terms: Sequence[SearchTerm],
    where: Sequence[str],
    read: Callable[[int], list[Any]],
) -> Iterator[tuple[str, list[tuple[str, bool]]]]:
    """The texts of a call around the words; ``read`` unpacks prompts."""
    row = connection.execute(
        f"SELECT {beginning('reply')}, {beginning('reasoning')}, prompt, nth FROM calls WHERE id=?", (call,)
    ).fetchone()
    if row is None:
        return
    reply, reasoning, package, nth = row
    for name, raw in (("reply", reply), ("reasoning", reasoning), ("prompt", None)):
        if name in where:
            text = _prompt(package, nth, read) if name == "prompt" else decoded(raw)
            yield from ((name, pieces) for pieces in excerpts(text or "", terms))


def _package(connection: sqlite3.Connection, number: int) -> bytes:
    found = connection.execute("SELECT texts FROM prompts WHERE id=?", (number,)).fetchone()
    return b"" if found is None else bytes(found[0])


def _prompt(package: int, nth: int, read: Callable[[int], list[Any]]) -> str:
    try:
        return text_of(whole(package, nth, read))[:LONGEST]
    except UNREADABLE:
        return ""


def excerpts(
    text: str, terms: Sequence[SearchTerm], most: int = MOST_EXCERPTS
) -> list[list[tuple[str, bool]]]:
    """The places of a text where the terms occur, each in pieces: plain, or one of the words.

    >>> excerpts("I will never trust him again.", terms_of("trust"))
    [[('I will never ', False), ('trust', True), (' him again.', False)]]
    """
    spans = found_in(text, terms)
    made: list[list[tuple[str, bool]]] = []
    while spans and len(made) < most:
        start = max(0, spans[0][0] - AROUND)
        stop = min(len(text), spans[0][1] + AROUND)
        here = [span for span in spans if span[1] <= stop]
        spans = [span for span in spans if span[0] >= stop]
        pieces, at = [("…", False)] if start else [], start
        for first, last in here or [(start, start)]:
            if first < at:
                continue
            pieces += [(text[at:first], False), (text[first:last], True)]
            at = last
        pieces += [(text[at:stop], False)] + ([("…", False)] if stop < len(text) else [])
        made.append([piece for piece in pieces if piece[0]])
    return made


def found_in(text: str, terms: Sequence[SearchTerm], most: int = 200) -> list[tuple[int, int]]:
    """Where in a text the terms occur."""
    words: list[tuple[str, int, int]] = []
    spans: list[tuple[int, int]] = []
    longest = max((len(term.words) for term in terms), default=1)
    for match in _WORD.finditer(text):
        pieces = [(match.start(), match.end())]
        if not match[0].isascii() and len(inside := (spaced(match[0]) or "").split()) > 1:
            at, pieces = match.start(), []
            for piece in inside:
                pieces.append((at, at + len(piece)))
                at += len(piece)
        for start, stop in pieces:
            words = [*words[1 - longest :], (plain(text[start:stop]), start, stop)][-longest:]
            tails = ((words[-len(term.words) :], term) for term in terms)
            first = next((tail[0][1] for tail, term in tails if _fits(tail, term)), None)
            spans += [] if first is None else [(first, stop)]
        if len(spans) >= most:
            break
    return spans


def _fits(tail: Sequence[tuple[str, int, int]], term: SearchTerm) -> bool:
    *head, last = term.words
    *before, end = (word for word, _, _ in tail)
    return before == head and (end.startswith(last) if term.prefix else end == last)


COUNTED_AT_ONCE = 200_000
"""Calls of a run up to which hits are counted with the page; in a larger one the counts come after it."""
WHICH = ("where", "agent", "cell")


def page(viewer: Viewer, request: Request) -> Response:
    """The search page: hits in their context, and the number of hits by cell."""
    name = str(request.path_params["run"])
    folder = viewer.shelf.folder(name)
    asked = asked_of(request)
    with viewer.indexers.index(folder) as index:
        progress = None if index is None else index.progress
        found = {} if index is None else found_of(index, [part.journal for part in folder.parts], asked)
        if (
            index is not None
            and asked["after"] is None
            and (asked["count"] or index.progress.calls < COUNTED_AT_ONCE)
        ):
            found["counts"] = counts(index, asked["q"], **{name: asked[name] for name in WHICH})
    part = "_counts" if request.headers.get("hx-target") == "counts" else "search"
    return viewer.page(
        request, part, title=f"Search in {name}", **viewer.about(name), asked=asked, progress=progress, here="search",
        problem=viewer.indexers.problem(folder), where=WHERE, query_values=list(request.query_params.multi_items()),
        **{"page": None, "counts": None, "cells": {}, "agents": [], "terms": [], **found},
    )  # fmt: skip


def asked_of(request: Request) -> dict[str, Any]:
    """The query and filters in the parameters of a request."""
    values = request.query_params
    where = [one for one in values.getlist("in") if one in WHERE]
    return {
        "q": values.get("q", "")[:MOST_TYPED],
        "where": where or list(WHERE),
        "agent": values.get("agent") or None,
        **{
            name: whole_number(text, name) if (text := values.get(name)) else None
            for name in ("cell", "after")
        },
        "count": values.get("count") == "1",
    }


def found_of(index: RunIndex, journals: Sequence[Path], asked: dict[str, Any]) -> dict[str, Any]:
    """The hits of a query, as values for the page."""
    which = {name: asked[name] for name in WHICH}
    return {
        "page": search(index, journals, asked["q"], after=asked["after"], **which),
        "cells": index.cells(),
        "agents": index.players("agent"),
        "terms": [term for term in terms_of(asked["q"]) if not term.without],
    }


TAB = ("search", "Search", "/search")
ROUTES: Routes = [("/run/{run}/search", page, ["GET"])]
