"""The styles, the scripts and the icon of the pages; there are no other files."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from ostrom.web.security import Refused

KINDS = {
    "style.css": "text/css",
    "page.js": "text/javascript",
    "icon.svg": "image/svg+xml",
    "view.css": "text/css",
    "view.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "htmx.LICENSE.txt": "text/plain",
}


async def static(request: Request) -> Response:
    """One of the files, by its name."""
    name = str(request.path_params["name"])
    if name not in KINDS:
        raise Refused(404, "There is no such file.")
    headers = {"cache-control": "public, max-age=300"}
    return Response(_content(name), media_type=KINDS[name], headers=headers)


@lru_cache(maxsize=len(KINDS))
def _content(name: str) -> bytes:
    return files("ostrom.web").joinpath("static", name).read_bytes()
