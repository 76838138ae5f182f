"""The stream that keeps an open page up to date: parts of it, sent when they have changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import orjson
from starlette.responses import Response, StreamingResponse

from ostrom.view.viewer import Viewer
from ostrom.web.security import Refused

MOST_STREAMS = 100
PING = 15.0
"""Seconds after which a silent stream says that it is there."""

News = Callable[[], Awaitable[list[bytes]]]
"""The messages about what changed since the last call."""


def message(run: str, html: str) -> bytes:
    """A part of a page that changed; ``run`` names the place it belongs to."""
    return b"event: cells\ndata: " + orjson.dumps({"run": run, "html": html}) + b"\n\n"


def stream(viewer: Viewer, news: News, every: float) -> Response:
    """Ask for news every so many seconds and send them, until the page or the server is closed."""
    watching = viewer.watching
    if watching.watchers >= MOST_STREAMS:
        raise Refused(429, "Too many pages are open.")

    async def sent() -> AsyncIterator[bytes]:
        quiet = 0.0
        watching.watchers += 1
        watching.wake()
        try:
            yield b"retry: 2000\nevent: ping\ndata: 0\n\n"
            while not viewer.closing.is_set():
                await asyncio.sleep(every)
                quiet += every
                for told in await news():
                    quiet = 0.0
                    yield told
                if quiet >= PING:
                    quiet = 0.0
                    yield b"event: ping\ndata: 0\n\n"
        finally:
            watching.watchers -= 1

    return StreamingResponse(sent(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})
