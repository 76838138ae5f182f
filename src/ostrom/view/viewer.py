"""The application behind `ostrom view`: its pages are found in a list, each a module with its routes."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.terminal import one_line
from ostrom.view.asking import FigureProcess
from ostrom.view.indexers import Indexers
from ostrom.view.jobs import Jobs
from ostrom.view.render import draw
from ostrom.view.shelf import Shelf
from ostrom.view.watching import Watching
from ostrom.web.login import Login
from ostrom.web.security import Gatekeeper, Handler, Refused
from ostrom.web.static_files import static

PAGES = ("runs", "run", "matches", "match", "search", "beside", "acting")
"""Modules of this package; each has ROUTES, and TAB (key, title, end of the address) where a run links to it."""

ViewHandler: TypeAlias = Callable[["Viewer", Request], Response | Awaitable[Response]]
"""Answers a request; one that is no coroutine runs in a thread."""
Routes: TypeAlias = list[tuple[str, ViewHandler, list[str]]]


class Viewer:
    """What all pages share."""

    def __init__(self, shelf: Shelf, gatekeeper: Gatekeeper, password: str | None = None) -> None:
        self.shelf, self.gatekeeper = shelf, gatekeeper
        self.login = Login("view", password)
        self.watching = Watching(shelf)
        self.figures = FigureProcess()
        self.indexers = Indexers()
        self.jobs = Jobs()
        self.may_act = password is not None
        """Whether commands may be started from a page."""
        self.closing = asyncio.Event()
        self._modules = [import_module(f"ostrom.view.{page}") for page in PAGES]
        self.tabs = [module.TAB for module in self._modules if hasattr(module, "TAB")]
        """What the pages about a run link to: key, title, end of the address."""

    def app(self) -> Starlette:
        """The routes of all pages."""
        routes: list[tuple[str, Handler, list[str]]] = [
            ("/login", self._enter, ["POST"]),
            ("/static/{name}", static, ["GET"]),
        ]
        for module in self._modules:
            made: Routes = module.ROUTES
            routes += [(path, self._served(handler), methods) for path, handler, methods in made]
        return self.gatekeeper.application(routes)

    def _served(self, handler: ViewHandler) -> Handler:
        async def serve(request: Request) -> Response:
            if not self.login.allowed(request):
                if request.method != "GET" or request.url.path != "/":
                    raise Refused(403, "Log in first.")
                return HTMLResponse(draw("login", title="Log in"), 403)
            try:
                if inspect.iscoroutinefunction(handler):
                    found = await handler(self, request)
                else:
                    found = await asyncio.to_thread(handler, self, request)
            except OstromError as error:
                code = 404 if isinstance(error, UsageError) else 500
                return self.page(request, "trouble", code=code, title="Not shown", line=one_line(str(error)))
            assert isinstance(found, Response)
            return found

        return serve

    async def _enter(self, request: Request) -> Response:
        return await self.login.enter(self.gatekeeper, request)

    def page(self, request: Request, template: str, *, code: int = 200, **context: Any) -> Response:
        """A whole page; a template with another name than a page (``_rows``) is a part of one."""
        return HTMLResponse(draw(template, address=request.url.path, tabs=self.tabs, **context), code)

    def about(self, name: str) -> dict[str, Any]:
        """What the head of every page about a run says: how it stands and whether it was checked."""
        self.shelf.folder(name)
        if name not in self.watching.statuses:
            self.watching.look([name])
        return {"run": name, "status": self.watching.status(name), "check": self.watching.check(name)}
