"""The application behind `ostrom view`; each page is a module with its own routes.

It asks one process for figures, started when it is needed and ended when it is not, and sends open pages what changed.
"""

import asyncio
import inspect
import os
import socket
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.terminal import one_line
from ostrom.view.index import Indexers
from ostrom.view.render import draw
from ostrom.view.shelf import RunsFolder
from ostrom.view.states import Watching
from ostrom.web.login import Login
from ostrom.web.security import Gatekeeper, Handler, Refused
from ostrom.web.server import LOCAL, listen_on, password_in, serve, static

WAIT = 1.5
"""Seconds that a page waits for figures before it is shown without them."""
IDLE = 90.0
"""Seconds after which an idle process is ended."""
MOST_CACHED = 64
"""The most cached answers."""
LEAN = {"MALLOC_ARENA_MAX": "2"}
"""Environment of the figure process: with one arena per thread the database takes 45 MB more."""
LONGEST = 64 << 20
"""The largest reply, in bytes."""

Answer = dict[str, Any]


class FigureProcess:
    """Client of the figure process; equal requests about the same entries are sent once."""

    def __init__(self) -> None:
        self._child: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._answers: OrderedDict[bytes, asyncio.Task[Answer]] = OrderedDict()
        self._idle: asyncio.TimerHandle | None = None

    async def ask(self, journal: object, **request: Any) -> Answer | None:
        """Return the answer, or None if it takes longer (ask again). ``journal`` identifies the state asked about."""
        key = orjson.dumps([journal, request], option=orjson.OPT_SORT_KEYS)
        task = self._answers.pop(key, None)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = asyncio.create_task(self._answer(request))
        self._answers[key] = task
        while len(self._answers) > MOST_CACHED:
            self._answers.popitem(last=False)[1].cancel()
        done, _ = await asyncio.wait({task}, timeout=WAIT)
        return task.result() if done else None

    async def _answer(self, request: Answer) -> Answer:
        async with self._turn:
            if self._idle is not None:
                self._idle.cancel()
            for fresh in (False, True):
                child = await self._started(anew=fresh)
                assert child.stdin is not None and child.stdout is not None
                try:
                    child.stdin.write(orjson.dumps(request) + b"\n")
                    await child.stdin.drain()
                    if line := await child.stdout.readline():
                        self._idle = asyncio.get_running_loop().call_later(IDLE, self._end)
                        answer: Answer = orjson.loads(line)
                        return answer
                except (OSError, ValueError):
                    continue
            return {"problem": "the figures cannot be computed: the process that does it ended"}

    async def _started(self, *, anew: bool) -> asyncio.subprocess.Process:
        if anew or self._child is None or self._child.returncode is not None:
            self._end()
            self._child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "ostrom.view.figures", stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, limit=LONGEST,
                env={**os.environ, **LEAN},
            )  # fmt: skip
        return self._child

    def _end(self) -> None:
        if self._child is not None and self._child.returncode is None:
            self._child.kill()

    async def close(self) -> None:
        """End the process."""
        for task in self._answers.values():
            task.cancel()
        await asyncio.gather(*self._answers.values(), return_exceptions=True)
        if self._idle is not None:
            self._idle.cancel()
        self._end()
        if self._child is not None:
            await self._child.wait()


PAGES = ("runs", "matches", "match", "search", "beside")
"""Modules of this package with ROUTES, and TAB (key, title, end of the URL) if a run links to it."""

ViewHandler: TypeAlias = Callable[["Viewer", Request], Response | Awaitable[Response]]
"""Answers a request; a plain function runs in a thread."""
Routes: TypeAlias = list[tuple[str, ViewHandler, list[str]]]


class Viewer:
    """State shared by all pages."""

    def __init__(
        self,
        shelf: RunsFolder,
        gatekeeper: Gatekeeper,
        password: str | None = None,
        print_link: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.shelf, self.gatekeeper = shelf, gatekeeper
        self.login = Login("view", password, gatekeeper, self._ask, print_link=print_link)
        self.watching = Watching(shelf)
        self.figures = FigureProcess()
        self.indexers = Indexers()
        self.closing = asyncio.Event()
        self._modules = [import_module(f"ostrom.view.{page}") for page in PAGES]
        self.tabs = [module.TAB for module in self._modules if hasattr(module, "TAB")]
        """Links of the pages about a run: key, title, end of the URL."""

    def tasks(self) -> list[Coroutine[Any, Any, None]]:
        """Return the background tasks of the pages."""
        return [task(self) for module in self._modules for task in getattr(module, "TASKS", ())]

    def app(self) -> Starlette:
        """The routes of all pages."""
        routes: list[tuple[str, Handler, list[str]]] = [
            ("/login", self.login.enter, ["POST"]),
            ("/login", self.login.follow, ["GET"]),
            ("/static/{name}", static, ["GET"]),
            *(
                (path, self._served(handler), methods)
                for module in self._modules
                for path, handler, methods in module.ROUTES
            ),
        ]
        return self.gatekeeper.application(routes)

    @staticmethod
    def _ask(problem: str, status: int) -> Response:
        """The page that asks for the password."""
        return HTMLResponse(draw("login", title="Log in", problem=problem), status)

    def _served(self, handler: ViewHandler) -> Handler:
        async def serve(request: Request) -> Response:
            if request.method != "GET":
                self.login.require(request)
            if not self.login.allowed(request):
                return self._ask("", 403)
            try:
                if inspect.iscoroutinefunction(handler):
                    response = await handler(self, request)
                else:
                    response = await asyncio.to_thread(handler, self, request)
            except OstromError as error:
                return self.page(
                    request,
                    "trouble",
                    code=404 if isinstance(error, UsageError) else 500,
                    title="Not shown",
                    line=one_line(str(error)),
                )
            assert isinstance(response, Response)
            return response

        return serve

    def page(self, request: Request, template: str, *, code: int = 200, **context: Any) -> Response:
        """Render a page; a template whose name begins with ``_`` is a part of one."""
        page = HTMLResponse(draw(template, address=request.url.path, tabs=self.tabs, **context), code)
        progress = context.get("progress")
        if request.headers.get("hx-target") == "indexing" and (progress is None or progress.complete):
            # After the missing part has arrived, it is shown instead of the note alone.
            page.headers.update({"HX-Retarget": "#main", "HX-Reselect": "#main", "HX-Reswap": "outerHTML"})
        return page

    def run_header(self, name: str) -> dict[str, Any]:
        """Return the values of the header of a run's pages: its status and integrity check."""
        self.indexers.refresh(self.shelf.folder(name))
        if name not in self.watching.statuses:
            self.watching.poll([name])
        return {"run": name, "status": self.watching.status(name), "check": self.watching.check(name)}


def parse_integer(text: str, name: str, least: int = 0, most: int = 10**13) -> int:
    """Parse a whole number from a URL or a form; anything else is refused."""
    if not text.isascii() or not text.isdigit() or len(text) > 14 or not least <= int(text) <= most:
        raise UsageError(f"{name}: {text[:20]!r} must be a whole number of at least {least}")
    return int(text)


def run_and_number(request: Request) -> tuple[str, int]:
    """Return the run, and the match or call number, in a URL."""
    return str(request.path_params["run"]), parse_integer(str(request.path_params["number"]), "number")


MOST_STREAMS = 100
PING = 15.0
"""Seconds between keep-alive messages on a stream."""

News = Callable[[], Awaitable[list[bytes]]]
"""Returns the messages about changes since the last call."""


def message(run: str, html: str) -> bytes:
    """Return the event message for a changed part of a page; ``run`` names its place."""
    return b"event: cells\ndata: " + orjson.dumps({"run": run, "html": html}) + b"\n\n"


def stream(viewer: Viewer, news: News, every: float) -> Response:
    """Poll for news every ``every`` seconds and send them, until the page or the server closes."""
    watching = viewer.watching
    if watching.watchers >= MOST_STREAMS:
        raise Refused(429, "Too many pages are open.")

    async def sent() -> AsyncIterator[bytes]:
        quiet = 0.0
        watching.watchers += 1
        watching.refresh()
        try:
            yield b"retry: 2000\nevent: ping\ndata: 0\n\n"
            while not viewer.closing.is_set():
                await asyncio.sleep(every)
                quiet += every
                for event in await news():
                    quiet = 0.0
                    yield event
                if quiet >= PING:
                    quiet = 0.0
                    yield b"event: ping\ndata: 0\n\n"
        finally:
            watching.watchers -= 1

    return StreamingResponse(sent(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


PASSWORD = "OSTROM_VIEW_PASSWORD"


def bound(host: str, port: int) -> tuple[socket.socket, str | None]:
    """Return the listening socket and the password, which an address reachable from other machines needs."""
    password = password_in(PASSWORD, host)
    return listen_on(host, port), password


def address_of(listening: socket.socket) -> str:
    """How a browser on this machine reaches the server."""
    host, port = listening.getsockname()[:2]
    inside = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{inside}:{port}/"


async def serve_view(
    root: Path,
    listening: socket.socket,
    password: str | None,
    names: tuple[str, ...],
    say: Callable[[str], None],
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve until a signal comes; ``names`` are further host names of the server."""
    shelf = RunsFolder(root)
    host, port = listening.getsockname()[:2]
    gatekeeper = Gatekeeper(None, {port}, report=say)
    for name in (*names, *(() if host in LOCAL or host in ("0.0.0.0", "::") else (host,))):
        authority = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
        gatekeeper.hosts.add(authority.lower())
        gatekeeper.origins.add(f"http://{authority}".lower())
    address = address_of(listening).rstrip("/")
    viewer = Viewer(shelf, gatekeeper, password, lambda path: say(f"login: {address}{path} (good for one login)"))
    beside = [
        asyncio.create_task(task) for task in (viewer.watching.look_on(), viewer.watching.check_runs(), *viewer.tasks())
    ]
    ready()
    try:
        await serve([(viewer.app(), listening)], viewer.closing.set, beside)
    finally:
        viewer.indexers.close()
        await viewer.figures.close()
        shelf.close()
