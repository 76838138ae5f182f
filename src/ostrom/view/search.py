"""Search over everything that was asked and said in a run."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ostrom.ground.errors import UsageError
from ostrom.view.index import RunIndex
from ostrom.view.searching import MOST_TYPED, WHERE, counts, search, terms_of
from ostrom.view.viewer import Routes, Viewer

COUNTED_AT_ONCE = 200_000
"""Calls of a run up to which hits are counted with the page; in a larger one the counts come after it."""
WHICH = ("where", "agent", "cell")


def page(viewer: Viewer, request: Request) -> Response:
    """Hits in their context, and how many there are by cell."""
    name = str(request.path_params["run"])
    folder = viewer.shelf.folder(name)
    asked = asked_of(request)
    with viewer.indexers.index(folder) as index:
        progress = None if index is None else index.progress
        found = {} if index is None else found_of(index, folder.journal, asked)
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
    """What an address asks for."""
    values = request.query_params
    where = [one for one in values.getlist("in") if one in WHERE]
    return {
        "q": values.get("q", "")[:MOST_TYPED],
        "where": where or list(WHERE),
        "agent": values.get("agent") or None,
        "cell": _number(values.get("cell"), "cell"),
        "after": _number(values.get("after"), "after"),
        "count": values.get("count") == "1",
    }


def found_of(index: RunIndex, journal: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """What the index says about it."""
    which = {name: asked[name] for name in WHICH}
    return {
        "page": search(index, journal, asked["q"], after=asked["after"], **which),
        "cells": index.cells(),
        "agents": index.players("agent"),
        "terms": [term for term in terms_of(asked["q"]) if not term.without],
    }


def _number(text: str | None, name: str) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise UsageError(f"{name}={text[:20]}: must be a number")
    return int(text)


TAB = ("search", "Search", "/search")
ROUTES: Routes = [("/run/{run}/search", page, ["GET"])]
