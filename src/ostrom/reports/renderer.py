"""Renders charts in a separate process, while the report computes its next panel.

The renderer holds the interpreter for as long as it draws, so a thread would gain nothing. The process reads one JSON
request a line and writes one JSON answer a line.
"""

import base64
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import orjson
from markupsafe import Markup

from ostrom.ground.errors import OstromError
from ostrom.ground.terminal import one_line
from ostrom.reports.figures import BINARY_KINDS, RenderedChart, as_json, picture

MANY = 50_000
"""Journal entries from which a second process saves more time than its start takes."""


class Renderer(AbstractContextManager["Renderer"]):
    """Renders charts one after the other: on request, or ``apart`` in a process that ends with the report."""

    def __init__(self, *, apart: bool) -> None:
        self._thread = ThreadPoolExecutor(1) if apart else None
        self._child: subprocess.Popen[bytes] | None = None

    def draw(self, wide: dict[str, Any], narrow: dict[str, Any], prefix: str) -> Callable[[], RenderedChart]:
        """Start drawing; the returned function waits for the picture."""
        if self._thread is None:
            return lambda: picture(wide, narrow, prefix)
        return self._thread.submit(self._ask, as_json({"wide": wide, "narrow": narrow, "prefix": prefix})).result

    def _ask(self, request: bytes) -> RenderedChart:
        """Send a request to the process and read its answer."""
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable, "-c", "from ostrom.reports.renderer import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONSAFEPATH": "1"},
            )
        assert self._child.stdin is not None and self._child.stdout is not None
        try:
            self._child.stdin.write(request + b"\n")
            self._child.stdin.flush()
            answer = orjson.loads(self._child.stdout.readline())
        except (OSError, ValueError):
            raise OstromError("the process that draws the charts ended") from None
        if "problem" in answer:
            raise OstromError(answer["problem"])
        png, pdf = (base64.b64decode(answer[kind]) for kind in BINARY_KINDS)
        return RenderedChart(answer["svg"], png, pdf, Markup(answer["markup"]))

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.kill()
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
        if self._child is not None:
            self._child.communicate()


def main() -> None:
    """Render charts until the input ends."""
    # Ctrl-C ends it silently, unless the parent process ignores Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with answers
    for line in sys.stdin.buffer:
        try:
            drawn = picture(**orjson.loads(line))
            answer = {
                "svg": drawn.svg,
                "markup": drawn.markup,
                **{kind: base64.b64encode(getattr(drawn, kind)).decode() for kind in BINARY_KINDS},
            }
        except Exception as error:
            answer = {"problem": one_line(f"{type(error).__name__}: {error}")}
        try:
            out.write(orjson.dumps(answer) + b"\n")
            out.flush()
        except BrokenPipeError:  # the report was killed
            os._exit(1)
