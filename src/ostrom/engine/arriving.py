"""Plays units that arise during a run, all concurrently: participants must not wait for each other's units."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ostrom.engine.plan import Arrivals, Unit
from ostrom.ground.errors import OstromError


async def play_arrivals(
    arrivals: Arrivals, play: Callable[[Unit], Awaitable[OstromError | None]], stopping: asyncio.Event
) -> None:
    """Play every unit as it arises, until there are no more or the run is stopped; then drop what is under way."""
    playing: set[asyncio.Task[None]] = set()
    broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def work(unit: Unit) -> None:
        await arrivals.ended(unit, await play(unit))

    def done(task: asyncio.Task[None]) -> None:
        playing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not broken.done():
            broken.set_exception(error)

    stopped = asyncio.create_task(stopping.wait())
    coming: asyncio.Task[Unit | None] | None = None
    try:
        while True:
            coming = asyncio.create_task(arrivals.next())
            watched: set[asyncio.Future[Any]] = {coming, stopped, broken}
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            if broken.done():
                broken.result()
            if stopped.done() or (unit := coming.result()) is None:
                return
            task = asyncio.create_task(work(unit))
            playing.add(task)
            task.add_done_callback(done)
    finally:
        waiting = [task for task in (stopped, coming, *playing) if task is not None]
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        broken.cancel()
