"""Search over all prompts and replies of a run: the page, and its queries.

All words of a query must occur in one call; ``"several words"`` is a phrase, ``word*`` any word with this beginning,
and ``-word`` one that must not occur. No other character has a meaning, so any typed text is a valid query. Hits are
shown in their context.
"""

import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice, pairwise
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ostrom.engine.integrity import reading
from ostrom.engine.shards import holder
from ostrom.ground.errors import RunError
from ostrom.view.index import RunIndex
from ostrom.view.viewer import Routes, Viewer, parse_integer
from ostrom.view.words import PLACE, PLACES, NewLines, beginning, decoded, normalised, split_unspaced_scripts, words_in

WHERE = PLACES
MOST_TYPED = 500
MOST_TERMS = 16
SHORTEST_START = 2
"""The fewest letters before the ``*`` of ``word*``: fewer fit half of all words, which takes seconds."""
PAGE = 25
AROUND = 90
"""Characters shown on each side of a hit."""
MOST_EXCERPTS = 3
SLOWEST = 20.0
"""Seconds after which a search or a count with a phrase is given up."""

STRETCHES = (4096, 65_536)
"""Calls that are searched at first, and next: a word of every call has its first hits there, and others soon follow."""

_TERM = re.compile(r'(-?)"([^"]*)"?|(-?)(\S+)')
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class SearchTerm:
    """A word or a phrase of a query."""

    words: tuple[str, ...]
    prefix: bool = False
    without: bool = False


@dataclass(frozen=True)
class SearchHit:
    """A call that fits a query, with excerpts around the words."""

    call: int
    match: int
    step: int
    player: int
    agent: str
    cell: int
    excerpts: list[tuple[str, list[tuple[str, bool]]]]
    """For each: prompt, reply or reasoning, and the excerpt in pieces (a text, and whether it is one of the words)."""


@dataclass(frozen=True)
class SearchPage:
    """One page of hits."""

    hits: list[SearchHit]
    after: int | None


@dataclass(frozen=True)
class HitCounts:
    """How many calls fit a query, in all and by cell, agent and text (prompt, reply or reasoning)."""

    total: int
    by_cell: dict[int, int]
    by_agent: dict[str, int]
    by_where: dict[str, int]


def terms_of(typed: str) -> list[SearchTerm]:
    """The words and phrases of a typed query.

    >>> [(t.words, t.prefix, t.without) for t in terms_of('"never again" trust* -war (OR')]
    [(('never', 'again'), False, False), (('trust',), True, False), (('war',), False, True), (('or',), False, False)]
    """
    return [
        SearchTerm(words, word.endswith("*") and len(words[-1]) >= SHORTEST_START, bool(minus or other_minus))
        for minus, phrase, other_minus, word in _TERM.findall(typed[:MOST_TYPED])
        if (words := tuple(words_in(word or phrase)))
    ][:MOST_TERMS]


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
    """One page of the calls that fit a query, in the order of the journals."""
    terms = terms_of(typed)
    wanted = [term for term in terms if not term.without]
    if not wanted:
        return SearchPage([], None)
    voices, hits = index.speakers(), list[SearchHit]()
    calls = list(islice(_calls(index, journals, terms, where, agent, cell, after or 0), limit + 1))
    place = "SELECT unit, step, player FROM calls WHERE id=?"
    for journal, some in groupby(calls[:limit], lambda pair: holder(pair[0], journals)):
        with reading(journal) as connection:
            news = NewLines(connection)
            for call, voice in some:
                row = connection.execute(place, (call,)).fetchone()
                if row is not None:
                    (match, step, player), (of, name) = row, voices[voice]
                    texts = ((kind, text) for kind, text in _texts(connection, call, news) if kind in where)
                    hits.append(
                        SearchHit(
                            call,
                            match,
                            step,
                            player,
                            name,
                            of,
                            [(kind, pieces) for kind, text in texts for pieces in excerpts(text, wanted)],
                        )
                    )
    return SearchPage(hits, calls[limit - 1][0] if len(calls) > limit else None)


def counts(
    index: RunIndex,
    journals: Sequence[Path],
    typed: str,
    *,
    where: Sequence[str] = WHERE,
    agent: str | None = None,
    cell: int | None = None,
) -> HitCounts:
    """How many calls fit a query: in all, by cell, by agent, and by text (prompt, reply or reasoning)."""
    terms, voices = terms_of(typed), index.speakers()
    by_cell, by_agent = Counter[int](), Counter[str]()
    if all(term.without for term in terms):
        return HitCounts(0, {}, {}, {})
    for voice, n in _counted(index, journals, terms, where, agent, cell).items():
        number, name = voices[voice]
        by_cell[number] += n
        by_agent[name] += n
    return HitCounts(
        by_cell.total(),
        dict(by_cell),
        dict(by_agent),
        {name: sum(_counted(index, journals, terms, [name], agent, cell).values()) for name in where},
    )


def _hits(terms: Sequence[SearchTerm], where: Sequence[str], after: int = 0, until: int = PLACE - 1) -> str:
    """SQL for the calls in a range of numbers that hold all words of every wanted term in one of these texts.

    Words hold letters and digits alone (``words_in``), so nothing that is typed is SQL.
    """

    def holding(term: SearchTerm, places: Sequence[str]) -> str:
        words = " AND ".join(f'"{word}"' for word in term.words) + (" *" if term.prefix else "")
        return "SELECT id FROM ({})".format(
            " UNION ALL ".join(
                f"SELECT rowid - {first} AS id FROM words WHERE words MATCH '{words}' "
                f"AND rowid > {first + after} AND rowid <= {first + until}"
                for first in (PLACE * PLACES.index(place) for place in places)
            )
        )

    wanted = " INTERSECT ".join(holding(term, where) for term in terms if not term.without)
    # A call with all words of an unwanted phrase need not hold the phrase: _says decides that.
    return wanted + "".join(
        f" EXCEPT {holding(term, WHERE)}" for term in terms if term.without and len(term.words) == 1
    )


def _counted(
    index: RunIndex, journals: Sequence[Path], terms: Sequence[SearchTerm], where: Sequence[str],
    agent: str | None, cell: int | None,
) -> Mapping[int, int]:  # fmt: skip
    """How many calls of every voice (an agent in a cell) fit the terms."""
    if any(len(term.words) > 1 for term in terms):
        return Counter(voice for _, voice in _calls(index, journals, terms, where, agent, cell))
    return index.counted(_hits(terms, where), agent, cell)


def _calls(
    index: RunIndex, journals: Sequence[Path], terms: Sequence[SearchTerm], where: Sequence[str],
    agent: str | None, cell: int | None, after: int = 0,
) -> Iterator[tuple[int, int]]:  # fmt: skip
    """The calls after a given one that fit the terms, in order, with their voices."""
    until = time.monotonic() + SLOWEST
    phrases = [term for term in terms if len(term.words) > 1]
    hits = chain.from_iterable(
        index.calls_with(_hits(terms, where, first, last), agent, cell)
        for first, last in pairwise((after, *(after + length for length in STRETCHES), PLACE - 1))
    )
    if not phrases:
        yield from hits
        return
    for journal, some in groupby(hits, lambda pair: holder(pair[0], journals)):
        with reading(journal) as connection:
            news = NewLines(connection)
            for call, voice in some:
                if time.monotonic() > until:
                    raise RunError("this search takes too long: name more words, an agent or a cell")
                if _says(connection, call, phrases, where, news):
                    yield call, voice


def _says(
    journal: sqlite3.Connection, call: int, phrases: Sequence[SearchTerm], where: Sequence[str], news: NewLines
) -> bool:
    """Whether a call holds all wanted phrases, each in one of these texts, and no unwanted phrase."""
    lines = {name: f" {' '.join(words_in(text))} " for name, text in _texts(journal, call, news)}
    return all(
        term.without
        != any(
            f" {' '.join(term.words)}{'' if term.prefix else ' '}" in line
            for name, line in lines.items()
            if term.without or name in where
        )
        for term in phrases
    )


# -- context -------------------------------------------------------------------------------------------


def _texts(journal: sqlite3.Connection, call: int, news: NewLines) -> Iterator[tuple[str, str]]:
    """The reply, reasoning and new prompt lines of a call, as they are indexed, with their names."""
    row = journal.execute(
        f"SELECT {beginning('reply')}, {beginning('reasoning')}, unit, player, prompt, nth FROM calls WHERE id=?",
        (call,),
    ).fetchone()
    if row is not None:
        reply, reasoning, *place = row
        yield "reply", decoded(reply) or ""
        yield "reasoning", decoded(reasoning) or ""
        yield "prompt", news.alone(call, *place)


def excerpts(text: str, terms: Sequence[SearchTerm], most: int = MOST_EXCERPTS) -> list[list[tuple[str, bool]]]:
    """The places of a text where the terms occur, each in pieces: a text, and whether it is one of the words.

    >>> excerpts("I will never trust him again.", terms_of("trust"))
    [[('I will never ', False), ('trust', True), (' him again.', False)]]
    """
    spans = found_in(text, terms)
    passages: list[list[tuple[str, bool]]] = []
    while spans and len(passages) < most:
        start, stop = max(0, spans[0][0] - AROUND), min(len(text), spans[0][1] + AROUND)
        here = [span for span in spans if span[1] <= stop]
        spans = [span for span in spans if span[0] >= stop]
        pieces, at = [("…", False)] if start else [], start
        for first, last in here or [(start, start)]:
            if first < at:
                continue
            pieces += [(text[at:first], False), (text[first:last], True)]
            at = last
        pieces += [(text[at:stop], False)] + ([("…", False)] if stop < len(text) else [])
        passages.append([piece for piece in pieces if piece[0]])
    return passages


def found_in(text: str, terms: Sequence[SearchTerm], most: int = 200) -> list[tuple[int, int]]:
    """The beginning and end of every place in a text where one of the terms occurs."""
    words: list[tuple[str, int, int]] = []
    spans: list[tuple[int, int]] = []
    longest = max((len(term.words) for term in terms), default=1)
    for match in _WORD.finditer(text):
        pieces = [(match.start(), match.end())]
        if not match[0].isascii() and len(inside := split_unspaced_scripts(match[0]).split()) > 1:
            at, pieces = match.start(), []
            for piece in inside:
                pieces.append((at, at + len(piece)))
                at += len(piece)
        for start, stop in pieces:
            words = [*words[1 - longest :], (normalised(text[start:stop]), start, stop)][-longest:]
            first = next((words[-len(term.words)][1] for term in terms if _fits(words[-len(term.words) :], term)), None)
            spans += [] if first is None else [(first, stop)]
        if len(spans) >= most:
            break
    return spans


def _fits(tail: Sequence[tuple[str, int, int]], term: SearchTerm) -> bool:
    *head, last = term.words
    *before, end = (word for word, _, _ in tail)
    return before == head and (end.startswith(last) if term.prefix else end == last)


COUNTED_AT_ONCE = 200_000
"""Calls of a run below which hits are counted with the page; in a larger run the counts are loaded after it."""
WHICH = ("where", "agent", "cell")


def page(viewer: Viewer, request: Request) -> Response:
    """The search page: hits in their context, and the number of hits by cell."""
    name = str(request.path_params["run"])
    folder = viewer.shelf.folder(name)
    params = asked_of(request)
    journals = [part.journal for part in folder.parts]
    typed, which = params["q"], {name: params[name] for name in WHICH}
    hits: dict[str, Any] = {"progress": None, "page": None, "counts": None, "cells": {}, "agents": [], "terms": []}
    with viewer.indexers.index(folder) as index:
        if index is not None:
            hits |= {
                "progress": index.progress,
                "page": search(index, journals, typed, after=params["after"], **which),
                "cells": index.cells(),
                "agents": sorted({agent for _, agent in index.speakers().values()}),
                "terms": [term for term in terms_of(typed) if not term.without],
            }
            if params["after"] is None and (params["count"] or index.progress.calls < COUNTED_AT_ONCE):
                hits["counts"] = counts(index, journals, typed, **which)
    part = "_counts" if request.headers.get("hx-target") == "counts" else "search"
    return viewer.page(
        request, part, title=f"Search in {name}", **viewer.run_header(name), asked=params, here="search",
        problem=viewer.indexers.problem(folder), where=WHERE, query_values=list(request.query_params.multi_items()),
        **hits,
    )  # fmt: skip


def asked_of(request: Request) -> dict[str, Any]:
    """The query and the filters in the parameters of a request."""
    values = request.query_params
    return {
        "q": values.get("q", "")[:MOST_TYPED],
        "where": [one for one in values.getlist("in") if one in WHERE] or list(WHERE),
        "agent": values.get("agent") or None,
        **{name: parse_integer(text, name) if (text := values.get(name)) else None for name in ("cell", "after")},
        "count": values.get("count") == "1",
    }


TAB = ("search", "Search", "/search")
ROUTES: Routes = [("/run/{run}/search", page, ["GET"])]
