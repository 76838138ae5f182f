"""One run: how it stands, and what it found."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from ostrom.web.view.viewer import Routes, Viewer


def page(viewer: Viewer, request: Request) -> Response:
    """The first screen of a run."""
    name = str(request.path_params["run"])
    with viewer.shelf.opened(name) as run:
        study = run.manifest["study"]
        factors = [(f.name, [level.label for level in f.levels]) for f in getattr(run.plan, "factors", ())]
        return viewer.page(
            request, "run", title=study.get("title") or name, **viewer.about(name), study=study, factors=factors,
            manifest=run.manifest, here="run",
        )  # fmt: skip


TAB = ("run", "Overview", "")
ROUTES: Routes = [("/run/{run}", page, ["GET"])]
