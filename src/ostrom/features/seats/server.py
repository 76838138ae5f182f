"""The MCP server of seats: four tools, over stdio or over HTTP on this machine with one token for each seat."""

import asyncio
import hmac
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TextIO

import anyio.to_thread
import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from ostrom.features.seats.chair import LONGEST_WAIT, USUAL_WAIT, SeatSession, ToolReply
from ostrom.ground.version import __version__
from ostrom.web.security import SLOWEST, Gatekeeper, Refused
from ostrom.web.server import listen_on, serving

PATH = "/mcp"
MOST_BYTES = 128 * 1024
"""The largest body of a request."""
MOST_LINE = 32 * 1024 * 1024
"""The longest message on stdio in characters, and the most bytes read of a refused body."""
CHAIR = "ostrom.chair"
INSTRUCTIONS = (
    "You play one seat of a game. Call `look`: it waits until there is something to decide and returns what a player "
    "reads. Answer with `act`, in the form that the text asks for; it says what is wrong with an answer that cannot be "
    "read. Then call `look` again, until it says that the run is over. `rules` repeats the rules."
)
GONE = "The run is no longer played: its process has ended."
SEAT = {"seat": {"type": "integer", "minimum": 1, "description": "which of your seats, if you have several"}}
Call = Callable[[str, Mapping[str, Any]], Coroutine[Any, Any, ToolReply]]
"""Calls a tool with its arguments."""


def _tool(name: str, about: str, properties: Mapping[str, Any], required: Iterable[str] = ()) -> types.Tool:
    return types.Tool(
        name=name,
        description=about,
        input_schema={"type": "object", "properties": {**properties, **SEAT}, "required": list(required)},
    )


TOOLS = [
    _tool(
        "look",
        "Read what there is to decide; waits until there is something, or until the match or the run is over.",
        {"wait": {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT,
                  "description": f"seconds to wait at most ({USUAL_WAIT:g})"}},
    ),
    _tool("rules", "Read the rules of the match again.", {}),
    _tool(
        "act",
        "Answer what `look` asked, in the form that it asked for.",
        {"answer": {"type": "string", "description": "the answer; reasons may stand before its last line"}},
        ["answer"],
    ),
    _tool("leave", "Give up the match: everything in it that is still to be decided counts as missed.", {}),
]  # fmt: skip


async def call_chair(chair: SeatSession, name: str, arguments: Mapping[str, Any]) -> ToolReply:
    """Call a tool at one seat; an error is one line."""
    arg_names = ("seat", *{"look": ("wait",), "act": ("answer",)}.get(name, ()))
    if unknown := [str(key)[:40] for key in arguments if key not in arg_names]:
        return ToolReply("refused", f"{name} has no argument {unknown[0]!r} (allowed: {', '.join(arg_names)}).")
    match name:
        case "look":
            wait = arguments.get("wait", USUAL_WAIT)
            if isinstance(wait, bool) or not isinstance(wait, int | float) or wait != wait:
                return ToolReply("refused", f"wait must be a number of seconds from 0 to {LONGEST_WAIT:g}.")
            return await chair.next_event(wait)
        case "rules":
            return chair.rules()
        case "leave":
            return chair.leave()
    answer = arguments.get("answer")
    if not isinstance(answer, str):
        return ToolReply("refused", "answer must be a text.")
    return await chair.act(answer)


def at_seats(calls: Mapping[int, Call]) -> Call:
    """Return a call that selects one of several seats by the argument ``seat``; other seats are refused."""

    async def call(name: str, arguments: Mapping[str, Any]) -> ToolReply:
        seat = arguments.get("seat", next(iter(calls)) if len(calls) == 1 else None)
        yours = ", ".join(map(str, calls))
        if seat is None:
            return ToolReply("refused", f"Say which of your seats you mean: seat must be one of {yours}.")
        if isinstance(seat, bool) or not isinstance(seat, int) or seat not in calls:
            return ToolReply("refused", f"That seat is not yours (yours: {yours}).")
        return await calls[seat](name, arguments)

    return call


def own_seats(*chairs: SeatSession) -> Call:
    """Return calls to seats that this process serves."""
    return at_seats({chair.seat: partial(call_chair, chair) for chair in chairs})


def make_server(call_of: Callable[[Any], Call]) -> Server[Any]:
    """Build the MCP server; ``call_of`` returns the seat of a request (None on stdio)."""

    async def listed(_: ServerRequestContext[Any, Any], __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=TOOLS)

    async def called(
        context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in {tool.name for tool in TOOLS}:
            names = ", ".join(tool.name for tool in TOOLS)
            outcome = ToolReply("refused", f"There is no tool {params.name[:40]!r} (allowed: {names}).")
        else:
            outcome = await call_of(context.request)(params.name, params.arguments or {})
        return types.CallToolResult(
            content=[types.TextContent(text=outcome.text)],
            structured_content={"state": outcome.state, **outcome.more},
            is_error=outcome.wrong,
        )

    return Server(
        "ostrom-seat", version=__version__, instructions=INSTRUCTIONS, on_list_tools=listed, on_call_tool=called
    )


class SeatServer:
    """HTTP server of seats on this machine; each request has the token of one seat."""

    def __init__(self, chairs: Callable[[], Iterable[SeatSession]], port: int = 0) -> None:
        self._chairs = chairs
        self._socket = listen_on("127.0.0.1", port)
        self.port = int(self._socket.getsockname()[1])
        self._gatekeeper = Gatekeeper(None, {self.port}, browsers=False)
        self._manager = StreamableHTTPSessionManager(
            make_server(lambda request: own_seats(request.scope[CHAIR])),
            json_response=True,
            stateless=True,
            max_request_body_size=MOST_BYTES,
        )

    @property
    def url(self) -> str:
        """Where clients connect to."""
        return f"http://127.0.0.1:{self.port}{PATH}"

    def close(self) -> None:
        """Free the port."""
        self._socket.close()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve as long as the context lasts."""
        async with self._manager.run(), serving(self, self._socket):
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that addresses this machine and has the token of a seat."""
        try:
            request = Request(scope, receive)
            self._gatekeeper.check(request)
            if request.url.path != PATH:
                raise Refused(404, "There is no such page.")
            chair = self._chair_of(request)
            await _bounded(request)
        except Refused as refused:
            # A JSON-RPC error: clients show its text.
            response = JSONResponse(
                {"jsonrpc": "2.0", "id": None, "error": {"code": types.INVALID_REQUEST, "message": refused.reason}},
                refused.status,
            )
            await response(scope, receive, send)
            return
        await self._manager.handle_request({**scope, CHAIR: chair}, receive, send)

    def _chair_of(self, request: Request) -> SeatSession:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        bearer = token.strip().encode("utf-8", "replace") if kind.lower() == "bearer" else b""
        matching = [chair for chair in self._chairs() if hmac.compare_digest(chair.token.encode(), bearer)]
        if not matching:
            raise Refused(401, "This seat needs its token: send it as `Authorization: Bearer TOKEN`.")
        return matching[0]


async def _bounded(request: Request) -> None:
    """Refuse a body that is too large; it is read first (within limits), so that the sender gets the refusal."""
    length = request.headers.get("content-length", "0")
    if length.isascii() and length.isdigit() and len(length) < 12 and int(length) <= MOST_BYTES:
        return
    read = 0
    with suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(SLOWEST):
            async for piece in request.stream():
                read += len(piece)
                if read > MOST_LINE:
                    break
    raise Refused(413, f"A request has at most {MOST_BYTES:,} bytes.")


class _Lines:
    """Lines of a text stream with bounded length; waiting for a line can be cancelled."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[str]:
        complete = True
        while line := await anyio.to_thread.run_sync(self._stream.readline, MOST_LINE, abandon_on_cancel=True):
            begins, complete = complete, line.endswith("\n")
            if begins and complete:
                yield line


async def serve_stdio(call: Call) -> None:
    """Serve MCP on the standard streams of this process until the client closes its end."""
    server = make_server(lambda _: call)
    lines: Any = _Lines(open(0, encoding="utf-8", errors="replace", closefd=False))  # noqa: SIM115
    async with stdio_server(stdin=lines) as (read, write):
        await server.run(read, write, server.create_initialization_options())


def remote_seats(url: str, tokens: Mapping[int, str]) -> Call:
    """Return calls to seats that another process of this machine serves."""
    return at_seats({seat: partial(_forward, url, token) for seat, token in tokens.items()})


@asynccontextmanager
async def connected(url: str, token: str) -> AsyncIterator[Client]:
    """Connect a client to a seat."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=2 * LONGEST_WAIT) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


async def _forward(url: str, token: str, name: str, arguments: Mapping[str, Any]) -> ToolReply:
    try:
        async with connected(url, token) as client:
            result = await client.call_tool(name, dict(arguments))
    except Exception:  # whatever the client raises, the seat is no longer served
        return ToolReply("run_over", GONE)
    text = "\n".join(part.text for part in result.content if isinstance(part, types.TextContent))
    more = dict(result.structured_content or {})
    return ToolReply(str(more.pop("state", "refused")), text, more)
