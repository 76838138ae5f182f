"""The list of runs, and the stream that keeps it up to date."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ostrom.web.security import Refused
from ostrom.web.view.render import draw
from ostrom.web.view.states import DAMAGED, FINISHED, INTERRUPTED, RUNNING
from ostrom.web.view.viewer import Routes, Viewer

MOST_STREAMS = 100
PING = 15.0
"""Seconds after which a silent stream says that it is there."""
ORDER = {RUNNING: 0, DAMAGED: 1, INTERRUPTED: 2, FINISHED: 3}


def page(viewer: Viewer, request: Request) -> Response:
    """All runs: those being played first, then what needs somebody, then the newest."""
    watching = viewer.watching
    names = viewer.shelf.names()
    missing = [name for name in names if name not in watching.statuses]
    if len(missing) <= 8:  # many more are filled in as they are looked at
        watching.look(missing)
    rows = [_row(viewer, name) for name in names]
    rows.sort(key=lambda row: row["status"].created, reverse=True)
    rows.sort(key=lambda row: ORDER.get(row["status"].state, 9))
    counts = {state: sum(row["status"].state == state for row in rows) for state in ORDER}
    return viewer.page(request, "runs", title="Runs", rows=rows, counts=counts, root=str(viewer.shelf.root))


def _row(viewer: Viewer, name: str) -> dict[str, Any]:
    return {"name": name, "status": viewer.watching.status(name), "check": viewer.watching.check(name)}


def _told(viewer: Viewer, name: str, part: str) -> bytes:
    """The message about a run that changed, drawn once for all pages that are open."""
    watching = viewer.watching
    version, said = watching.drawn.get((name, part), (None, b""))
    if version != (now := watching.changed.get(name)):
        html = draw(part, **_row(viewer, name), run=name)
        said = b"event: cells\ndata: " + orjson.dumps({"run": name, "html": html}) + b"\n\n"
        watching.drawn[name, part] = now, said
    return said


async def events(viewer: Viewer, request: Request) -> Response:
    """Tell pages what changed: the cells of rows whose runs went on."""
    watching = viewer.watching
    if watching.watchers >= MOST_STREAMS:
        raise Refused(429, "Too many pages are open.")
    only = request.query_params.get("run")

    async def stream() -> AsyncIterator[bytes]:
        seen, quiet = watching.version, 0.0
        watching.watchers += 1
        watching.wake()
        try:
            yield b"retry: 2000\nevent: ping\ndata: 0\n\n"
            while not viewer.closing.is_set():
                await asyncio.sleep(0.25)
                quiet += 0.25
                if watching.version == seen:
                    if quiet >= PING:
                        quiet = 0.0
                        yield b"event: ping\ndata: 0\n\n"
                    continue
                told, seen, quiet = seen, watching.version, 0.0
                changed = [
                    name
                    for name, at in list(watching.changed.items())
                    if at > told and name in watching.statuses
                ]
                for name in changed:
                    if only is None or name == only:
                        yield _told(viewer, name, "_cells" if only is None else "_pulse")
        finally:
            watching.watchers -= 1

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


ROUTES: Routes = [("/", page, ["GET"]), ("/events", events, ["GET"])]
