"""The list of runs, and the stream that keeps it up to date."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ostrom.view.render import draw
from ostrom.view.states import DAMAGED, FINISHED, INTERRUPTED, RUNNING, UNKNOWN
from ostrom.view.viewer import Routes, Viewer, message, stream

ORDER = {RUNNING: 0, DAMAGED: 1, UNKNOWN: 2, INTERRUPTED: 3, FINISHED: 4}


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
        said = message(name, draw(part, **_row(viewer, name), run=name))
        watching.drawn[name, part] = now, said
    return said


def events(viewer: Viewer, request: Request) -> Response:
    """Tell pages what changed: the cells of rows whose runs went on."""
    watching = viewer.watching
    only, seen = request.query_params.get("run"), watching.version

    async def news() -> list[bytes]:
        nonlocal seen
        if watching.version == seen:
            return []
        told, seen = seen, watching.version
        changed = [
            name for name, at in list(watching.changed.items()) if at > told and name in watching.statuses
        ]
        part = "_cells" if only is None else "_pulse"
        return [_told(viewer, name, part) for name in changed if only is None or name == only]

    return stream(viewer, news, 0.25)


ROUTES: Routes = [("/", page, ["GET"]), ("/events", events, ["GET"])]
