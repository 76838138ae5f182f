"""A call in its stages: made ready, sent when there is a place for it, and its reply read in the end.

The stages are apart so that nothing is left to do between a place and a request on the wire: the moment a reply
arrives, its place goes to the next call, and that call goes out before anyone looks at the reply.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol, runtime_checkable

from ostrom.errors import ModelError
from ostrom.models.base import Model, Reply, Request

Release = Callable[[], None]
"""Gives a place back."""


class PendingCall:
    """A call that is ready to go out. It holds a place from ``start`` until ``release``."""

    __slots__ = ("_clock", "_release_slot", "begun", "dropped", "era", "took")

    def __init__(self, release: Release | None = None) -> None:
        self._release_slot = release
        self.dropped = False
        """Whether nobody waits for it any more."""
        self.begun = self._clock = 0.0
        """When it went out; 0 before that."""
        self.era = 0
        """The era of the limiter in which it went out."""
        self.took: float | None = None
        """Seconds from there until all of its reply was here."""

    def start(self, era: int = 0) -> None:
        """Send it. There is a place for it now."""
        self.era, self.begun, self._clock = era, time.time(), time.perf_counter()

    def refuse(self, error: Exception) -> None:
        """There is no place for it: let ``reply`` raise this."""
        raise NotImplementedError

    async def reply(self) -> Reply:
        """Wait for its reply and read it. Raises a ModelError, or that with which it was refused."""
        raise NotImplementedError

    async def send_now(self) -> Reply:
        """Send it without asking for a place, and wait for its reply."""
        self.start()
        return await self.reply()

    def drop(self) -> None:
        """Give it up, wherever it is; its place is the caller's to give back."""
        self.dropped = True

    def release(self) -> None:
        """Give the place back, unless that was done."""
        release, self._release_slot = self._release_slot, None
        if release is not None:
            release()

    def arrived(self) -> None:
        """All of the reply is here."""
        self.took = time.perf_counter() - self._clock

    @property
    def latency(self) -> float:
        """Seconds that the call took, or has taken so far."""
        return time.perf_counter() - self._clock if self.took is None else self.took


@runtime_checkable
class PreparesCalls(Protocol):
    """A model whose calls can be made ready before there is a place for them."""

    def prepare(self, request: Request, release: Release | None = None) -> PendingCall:
        """Check and encode a request. Raises a ModelError."""
        ...


class SingleStepCall(PendingCall):
    """A call that is made all at once when there is a place."""

    __slots__ = ("_complete", "_placed")

    def __init__(self, complete: Callable[[], Awaitable[Reply]], release: Release | None = None) -> None:
        super().__init__(release)
        self._complete = complete
        self._placed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def start(self, era: int = 0) -> None:
        super().start(era)
        if not self._placed.done():
            self._placed.set_result(None)

    def refuse(self, error: Exception) -> None:
        if not self._placed.done():
            self._placed.set_exception(error)

    async def reply(self) -> Reply:
        await self._placed
        try:
            return await self._complete()
        finally:
            self.arrived()


Prepare = Callable[[Request, Release], PendingCall]


def preparing(model: Model) -> Prepare:
    """How calls to a model are made ready, as far as it knows stages."""
    if not isinstance(model, PreparesCalls):
        return lambda request, release: SingleStepCall(lambda: model.complete(request), release)
    prepare = model.prepare

    def made_ready(request: Request, release: Release) -> PendingCall:
        try:
            return prepare(request, release)
        except ModelError as error:
            # It fails without going out, but is counted and written down like every other.
            return SingleStepCall(partial(_raise, error), release)

    return made_ready


async def _raise(error: ModelError) -> Reply:
    raise error
