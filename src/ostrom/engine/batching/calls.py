"""The caller and the gate of a run in batches: calls wait for a wave."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Protocol

from ostrom.engine.caller import Caller
from ostrom.engine.gate import RunGate, Stopped
from ostrom.engine.plan import Unit
from ostrom.ground.errors import ModelError
from ostrom.models.base import Model, Reply, Request, Usage
from ostrom.models.pending_call import NO_SIZE, CallSize, PendingCall, Release
from ostrom.models.prices import price_of

MOST = 1 << 30
"""The number of slots of a gate that never delays a call: waves do that."""


class WaveQueue(Protocol):
    """The interface that takes calls and sends them in waves (``BatchScheduler``)."""

    def encode(self, model: str, request: Request) -> bytes:
        """The body of a request."""

    def put(self, call: WaveCall) -> None:
        """Put a call into the next wave."""

    def dropped(self, call: WaveCall) -> None:
        """Remove a call whose reply is no longer wanted."""

    def journaled(self, key: bytes) -> None:
        """Note that the reply to a call is in the journal."""


class WaveCall(PendingCall):
    """A call that is answered by a batch."""

    __slots__ = (
        "_reply", "_scheduler", "body", "full_size", "key", "model", "placed", "replied", "request", "times",
        "unit",
    )  # fmt: skip

    def __init__(
        self, scheduler: WaveQueue, unit: int, model: str, request: Request, key: bytes, release: Release | None
    ) -> None:
        super().__init__(release)
        self._scheduler, self.unit, self.model, self.request, self.key = scheduler, unit, model, request, key
        self.body = b""
        self.placed = False
        """Whether its match is counted as waiting for it."""
        self.times = 0
        """The number of batches that ended without running this call."""
        self.full_size = NO_SIZE
        """What the budget reserves for it when its wave is sent; ``size`` is what is reserved now."""
        self.replied = False
        """Whether the batch holds a reply to this call, readable or not."""
        self._reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    def start(self, era: int = 0) -> None:
        super().start(era)
        try:
            self.body = self._scheduler.encode(self.model, self.request)
        except ModelError as error:
            self.refuse(error)
        else:
            self._scheduler.put(self)

    def measure(self, size: CallSize) -> None:
        self.full_size = size

    @property
    def waits(self) -> bool:
        """Whether a reply is still wanted."""
        return not self._reply.done()

    def answer(self, reply: Reply) -> None:
        """Set the reply."""
        if self.waits:
            self.arrived()
            self._reply.set_result(reply)

    def refuse(self, error: Exception) -> None:
        if self.waits:
            self._reply.set_exception(error)

    def drop(self) -> None:
        super().drop()
        self._scheduler.dropped(self)
        if not self._reply.cancel() and not self._reply.cancelled():
            self._reply.exception()  # mark it as retrieved: nothing awaits it

    async def reply(self) -> Reply:
        return await self._reply


class BatchCaller(Caller):
    """Makes calls through batches, at the prices of batches."""

    source = "batch"

    def __init__(self, scheduler: WaveQueue, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._scheduler = scheduler

    async def call(self, unit: Unit, step: int, player: int, part: str, model: Model, request: Request) -> Reply:
        """Make one call; once its reply is journaled, its batch is not kept open for it any longer."""
        key = self.key(unit, step, player, part, model, request)
        try:
            return await super().call(unit, step, player, part, model, request)
        finally:
            self._scheduler.journaled(key)

    def _pending(self, unit: Unit, model: Model, request: Request, key: bytes, attempt: int) -> PendingCall:  # noqa: ARG002
        return WaveCall(self._scheduler, unit.index, model.name, request, key, partial(self.gate.release, model.name))

    def _sent(self, pending: PendingCall) -> bool:
        """Return whether the batch holds a reply, which is billed; calls still in a batch are collected later."""
        return isinstance(pending, WaveCall) and pending.replied

    def _price(self, model: str, usage: Usage) -> float | None:
        return price_of(model, usage, self.prices, batch=True)


class BatchGate(RunGate):
    """Counts calls; concurrency and budget are decided for whole waves."""

    batch = True

    def failed(
        self,
        model: str,
        era: int,  # noqa: ARG002
        retry_after: float | None,  # noqa: ARG002
        last: bool = False,
        size: CallSize = NO_SIZE,
        billed: bool = False,
    ) -> None:
        state = self._failed(model)
        state.exhausted = state.exhausted or last
        self._settled(model, size, billed)

    def models_to_abort(self, tries: int) -> set[str]:  # noqa: ARG002
        """Return the models that cannot be used; the thousands of failures of one failed wave count as one."""
        return {model for model, state in self._models.items() if state.lost}

    def _admit(self, model: str, size: CallSize) -> bool:  # noqa: ARG002
        """Let a call into the next wave; the scheduler holds back what the budget does not cover."""
        if self.stopping.is_set():
            raise Stopped("stopped")
        self.tally.in_flight += 1
        return True

    def _free(self, model: str, size: CallSize) -> None:
        if size != NO_SIZE:  # a call that was never sent has reserved nothing
            super()._free(model, size)
