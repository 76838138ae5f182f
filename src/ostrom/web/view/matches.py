"""The matches of a run."""

from __future__ import annotations

from contextlib import closing

from starlette.requests import Request
from starlette.responses import Response

from ostrom.engine.journal import connect_read_only
from ostrom.web.view.viewer import Routes, Viewer

PAGE = 200


def page(viewer: Viewer, request: Request) -> Response:
    """Some matches."""
    name = str(request.path_params["run"])
    after = request.query_params.get("after", "")
    first = int(after) if after.isdigit() and len(after) < 15 else -1
    with closing(connect_read_only(viewer.shelf.folder(name).journal)) as connection:
        rows = connection.execute(
            "SELECT unit, state, reason, steps FROM units WHERE unit > ? ORDER BY unit LIMIT ?",
            (first, PAGE + 1),
        ).fetchall()
    more = rows[PAGE - 1][0] if len(rows) > PAGE else None
    return viewer.page(
        request,
        "matches",
        title=f"Matches of {name}",
        **viewer.about(name),
        rows=rows[:PAGE],
        more=more,
        here="matches",
    )


TAB = ("matches", "Matches", "/matches")
ROUTES: Routes = [("/run/{run}/matches", page, ["GET"])]
