"""A call in stages: prepared, sent when a slot is granted, and read at the end.

The stages are separate so that a granted slot is used at once: when a reply arrives its slot goes to the next call,
which is sent before the reply is parsed.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

from ostrom.ground.errors import ModelError
from ostrom.models.base import Model, Reply, Request

Release = Callable[[], None]
"""Releases a slot."""


class CallSize(NamedTuple):
    """The size of a call, which bounds its price."""

    prompt: int = 0
    """The length of the prompt in bytes, an upper bound of its tokens."""
    most: int = 0
    """The most tokens of its reply."""


NO_SIZE = CallSize()


class PendingCall:
    """A prepared call. It holds a slot from ``start`` until ``release``."""

    __slots__ = ("_clock", "_release_slot", "begun", "dropped", "era", "rank", "size", "took")

    def __init__(self, release: Release | None = None) -> None:
        self._release_slot = release
        self.dropped = False
        """Whether the caller was cancelled and no longer waits."""
        self.begun = self._clock = 0.0
        """The time at which the call was sent; 0 before."""
        self.era = 0
        """The era of the limiter in which the call was sent."""
        self.rank = 0
        """The priority among waiting calls: the number of the call's match; the lowest goes first."""
        self.size = NO_SIZE
        """The size that the budget reserves."""
        self.took: float | None = None
        """Seconds until the reply had arrived completely."""

    def start(self, era: int = 0) -> None:
        """Send the call: a slot was granted."""
        self.era, self.begun, self._clock = era, time.time(), time.perf_counter()

    def measure(self, size: CallSize) -> None:
        """Set the size that the budget reserves."""
        self.size = size

    def refuse(self, error: Exception) -> None:
        """Refuse the slot: ``reply`` raises this error."""
        raise NotImplementedError

    async def reply(self) -> Reply:
        """Wait for the reply and read it. Raises a ModelError, or the error of a refusal."""
        raise NotImplementedError

    async def send_now(self) -> Reply:
        """Send the call without a slot, and wait for its reply."""
        self.start()
        return await self.reply()

    def drop(self) -> None:
        """Abandon the call in any stage; the caller still has to release the slot."""
        self.dropped = True

    def release(self) -> None:
        """Release the slot, once."""
        release, self._release_slot = self._release_slot, None
        if release is not None:
            release()

    def arrived(self) -> None:
        """Note that the reply has arrived completely."""
        self.took = time.perf_counter() - self._clock

    @property
    def latency(self) -> float:
        """Seconds that the call took, or has taken so far."""
        return time.perf_counter() - self._clock if self.took is None else self.took


@runtime_checkable
class PreparesCalls(Protocol):
    """A model that can prepare calls before a slot is granted."""

    def prepare(self, request: Request, release: Release | None = None) -> PendingCall:
        """Check and encode a request. Raises a ModelError."""


class SingleStepCall(PendingCall):
    """A call of a model without stages: made when a slot is granted."""

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
    """Return the function that prepares calls to a model, with or without stages."""
    if not isinstance(model, PreparesCalls):
        return lambda request, release: SingleStepCall(lambda: model.complete(request), release)
    prepare = model.prepare

    def made_ready(request: Request, release: Release) -> PendingCall:
        try:
            return prepare(request, release)
        except ModelError as error:
            # The request cannot be encoded: nothing is sent, but the failed try is counted and journaled.
            return SingleStepCall(partial(_raise, error), release)

    return made_ready


async def _raise(error: ModelError) -> Reply:
    raise error
