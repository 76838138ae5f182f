"""The server's side of ``figures``: one process that answers, started when it is needed and ended when it is not."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import OrderedDict
from typing import Any

import orjson

WAIT = 1.5
"""Seconds that a page waits for figures before it is shown without them."""
IDLE = 90.0
"""Seconds after which a process that nobody asks is ended."""
KEPT = 64
"""Answers that are kept."""
LEAN = {"MALLOC_ARENA_MAX": "2"}
"""The database has threads; with an arena for each, the process takes 45 MB more."""
LONGEST = 64 << 20
"""Bytes of a reply."""

Answer = dict[str, Any]


class FigureProcess:
    """Asks for figures; the same question about the same entries is asked once."""

    def __init__(self) -> None:
        self._child: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._answers: OrderedDict[bytes, asyncio.Task[Answer]] = OrderedDict()
        self._idle: asyncio.TimerHandle | None = None

    async def ask(self, journal: object, **request: Any) -> Answer | None:
        """The answer, or None where it takes longer; then ask again. ``journal`` tells what it is an answer about."""
        key = orjson.dumps([journal, request], option=orjson.OPT_SORT_KEYS)
        task = self._answers.pop(key, None)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = asyncio.create_task(self._asked(request))
        self._answers[key] = task
        while len(self._answers) > KEPT:
            _, old = self._answers.popitem(last=False)
            old.cancel()
        done, _ = await asyncio.wait({task}, timeout=WAIT)
        return task.result() if done else None

    async def _asked(self, request: Answer) -> Answer:
        async with self._turn:
            if self._idle is not None:
                self._idle.cancel()
            for fresh in (False, True):
                child = await self._started(anew=fresh)
                assert child.stdin is not None and child.stdout is not None
                try:
                    child.stdin.write(orjson.dumps(request) + b"\n")
                    await child.stdin.drain()
                    line = await child.stdout.readline()
                    if line:
                        self._idle = asyncio.get_running_loop().call_later(IDLE, self._end)
                        found: Answer = orjson.loads(line)
                        return found
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
