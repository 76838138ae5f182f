"""Admission of calls: a slot of the model's limiter, the budget, and whether the run is being stopped.

A run has one gate: in this process, or in an actor that all workers of a cluster ask. How many calls may be in flight
is adapted by one limiter per model: additive increase, multiplicative decrease.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from ostrom.engine.plan import Budget, Tally
from ostrom.engine.spending import Spending
from ostrom.ground.errors import ModelGivenUp, OstromError
from ostrom.models.base import Usage
from ostrom.models.pending_call import NO_SIZE, CallSize


class SlotRequest(Protocol):
    """A call that waits for a slot."""

    dropped: bool
    """Whether the slot is no longer wanted."""
    size: CallSize
    """What the budget reserves for it."""

    def start(self, era: int) -> None:
        """A slot is granted; pass the era on to ``failed`` if the call fails."""

    def refuse(self, error: OstromError) -> None:
        """No slot will be granted."""


class Limiter:
    """Grants call slots in order of request and adapts their number to the server.

    Every success raises the limit by 1/limit, up to ``most``; a failure halves it, at most once for all calls that
    were in flight when the first of them failed (one era). Retry-After pauses all calls to this model. ``admit`` is
    called before each slot is granted; it raises an OstromError when no more calls may start, and gives False when this
    one has to wait until ``grant_free_slots`` is called.
    """

    def __init__(self, start: int, most: int, admit: Callable[[CallSize], bool]) -> None:
        self.limit = float(max(1, min(start, most)))
        self.most = max(1, most)
        self.in_flight = 0
        self._admit = admit
        self._waiting: deque[SlotRequest] = deque()
        self._era = 0
        self._pause_until = 0.0
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = 0.0

    def request_slot(self, request: SlotRequest) -> None:
        """Queue a request. It is granted now if a slot is free, else when ``release`` frees one."""
        self._waiting.append(request)
        self.grant_free_slots()

    def try_acquire(self, size: CallSize = NO_SIZE) -> int | None:
        """Take a slot if one is free now; gives its era, else None."""
        if self._waiting or self.in_flight >= int(self.limit) or self._is_paused() or not self._admit(size):
            return None
        self.in_flight += 1
        return self._era

    def succeeded(self) -> None:
        """A call succeeded; its slot may have been released before."""
        self.limit = min(float(self.most), self.limit + 1.0 / self.limit)
        self.grant_free_slots()

    def failed(self, era: int, retry_after: float | None = None) -> None:
        """A call met a rate limit, a failure or a timeout. Call this before ``release``."""
        if era == self._era:
            self._era += 1
            self.limit = max(1.0, self.limit / 2)
        if retry_after is not None:
            self._pause_until = max(self._pause_until, asyncio.get_running_loop().time() + retry_after)

    def refuse_all(self, error: OstromError) -> None:
        """Refuse all queued requests."""
        while self._waiting:
            request = self._waiting.popleft()
            if not request.dropped:
                request.refuse(error)

    def release(self) -> None:
        """Free one slot."""
        self.in_flight -= 1
        self.grant_free_slots()

    def grant_free_slots(self) -> None:
        """Grant free slots to queued requests."""
        waiting = self._waiting
        while waiting and self.in_flight < int(self.limit) and not self._is_paused():
            request = waiting[0]
            try:
                if not request.dropped and not self._admit(request.size):
                    return
            except OstromError as error:
                waiting.popleft().refuse(error)
                continue
            waiting.popleft()
            if not request.dropped:
                self.in_flight += 1
                request.start(self._era)

    def _is_paused(self) -> bool:
        """Whether Retry-After pauses this model; if so, a timer resumes it."""
        if not self._pause_until:
            return False
        loop = asyncio.get_running_loop()
        if self._pause_until <= loop.time():
            self._pause_until = 0.0
            return False
        if self._alarm is None or self._alarm_at < self._pause_until:
            if self._alarm is not None:
                self._alarm.cancel()
            # Stored here: not every event loop's timer handle has when().
            self._alarm_at = self._pause_until
            self._alarm = loop.call_at(self._alarm_at, self._end_pause)
        return True

    def _end_pause(self) -> None:
        self._alarm = None
        self.grant_free_slots()


logger = logging.getLogger("ostrom.limits")

BREAKER = 20
"""A model is given up after so many failed calls in a row, each with all its tries."""


class Stopped(OstromError):
    """The run is being stopped. The unit ends here and continues when the run is resumed."""


class Gate(Protocol):
    """What a caller needs of a gate.

    For every granted slot call ``release`` exactly once and one outcome method exactly once (``succeeded``, ``failed``,
    ``refused``, ``abandoned``), in either order. Call ``failed`` before ``release``: the slot must not be granted
    again before the limit is lowered. ``size`` is that of the request; ``billed``: it got no reply, but may be on the
    bill.
    """

    def request_slot(self, model: str, request: SlotRequest) -> None:
        """Queue a request for a slot: it is started, or refused with Stopped, BudgetSpent or ModelGivenUp."""

    def release(self, model: str) -> None:
        """Free the slot for the next call."""

    def succeeded(
        self,
        model: str,
        usage: Usage,
        usd: float | None,
        size: CallSize = NO_SIZE,
        written: int = 0,
        cut: bool = False,
    ) -> None:
        """The call returned a reply that used so many tokens and cost so much, of so many bytes, ``cut`` or whole."""

    def failed(
        self,
        model: str,
        era: int,
        retry_after: float | None,
        last: bool = False,
        size: CallSize = NO_SIZE,
        billed: bool = False,
    ) -> None:
        """The call met a rate limit, a failure or a timeout; ``last``: it is not tried again."""

    def refused(
        self, model: str, for_good: bool = False, size: CallSize = NO_SIZE, billed: bool = False
    ) -> None:
        """The server declined the call; ``for_good``: it will decline every other call too."""

    def abandoned(self, model: str, size: CallSize = NO_SIZE, billed: bool = False) -> None:
        """The call was cancelled on our side. It is not counted unless it may be billed."""


@dataclass(slots=True)
class _ModelState:
    limiter: Limiter
    successes: int = 0
    failures_in_a_row: int = 0
    exhausted: bool = False
    """Whether some call to it ended without a reply."""
    closed: ModelGivenUp | None = None
    """Set when no more calls are made to this model."""
    useless: bool = False
    """Whether the server rejects every call: a wrong key, an empty account."""

    @property
    def lost(self) -> bool:
        """Whether the model has shown that it cannot be used."""
        return self.closed is not None or self.useless or (self.exhausted and not self.successes)


class RunGate:
    """The gate of a run: one limiter per model, one budget for all."""

    batch = False
    """Whether calls are made in batches, at their prices."""

    def __init__(
        self,
        tally: Tally,
        budget: Budget,
        stopping: asyncio.Event,
        prices: Mapping[str, Any] | None = None,
    ) -> None:
        self.tally, self.stopping = tally, stopping
        self.spending = Spending(tally, budget, prices, batch=self.batch)
        self._models: dict[str, _ModelState] = {}

    def open(self, model: str, start: int, most: int) -> None:
        """Register a model with its first and largest number of calls in flight."""
        self._models[model] = _ModelState(Limiter(start, most, partial(self._admit, model)))

    @property
    def most(self) -> int:
        """The most calls in flight to all models together."""
        return sum(state.limiter.most for state in self._models.values())

    @property
    def places(self) -> int:
        """The calls that may be in flight to all models together at present."""
        return sum(int(state.limiter.limit) for state in self._models.values())

    def request_slot(self, model: str, request: SlotRequest) -> None:
        state = self._models[model]
        if state.closed is not None:
            request.refuse(state.closed)
        else:
            state.limiter.request_slot(request)

    def try_acquire(self, model: str, size: CallSize = NO_SIZE) -> int | None:
        """Take a slot if one is free now, else None; raises Stopped or BudgetSpent."""
        state = self._models[model]
        return None if state.closed is not None else state.limiter.try_acquire(size)

    def _admit(self, model: str, size: CallSize) -> bool:
        if self.stopping.is_set():
            raise Stopped("stopped")
        if not self.spending.reserve(model, size):
            return False
        self.tally.in_flight += 1
        return True

    def _settled(self, model: str, size: CallSize, billed: bool) -> None:
        """Count a call that got no reply, and let calls go that waited for what it had reserved."""
        if billed:
            self.spending.count_unclear(model, size)
        self._free(model, size)

    def _free(self, model: str, size: CallSize) -> None:
        self.spending.free(model, size)
        for state in self._models.values():
            state.limiter.grant_free_slots()

    def stop(self) -> None:
        """Grant no more slots and refuse all queued requests."""
        self.stopping.set()
        for state in self._models.values():
            state.limiter.refuse_all(Stopped("stopped"))

    def release(self, model: str) -> None:
        self.tally.in_flight -= 1
        self._models[model].limiter.release()

    def succeeded(
        self,
        model: str,
        usage: Usage,
        usd: float | None,
        size: CallSize = NO_SIZE,
        written: int = 0,
        cut: bool = False,
    ) -> None:
        state = self._models[model]
        state.successes += 1
        state.failures_in_a_row = 0
        self.tally.calls += 1
        self.spending.count(model, size, usage, usd, written, cut)
        self._free(model, size)
        state.limiter.succeeded()

    def failed(
        self,
        model: str,
        era: int,
        retry_after: float | None,
        last: bool = False,
        size: CallSize = NO_SIZE,
        billed: bool = False,
    ) -> None:
        state = self._failed(model)
        state.exhausted = state.exhausted or last
        before = state.limiter.limit
        state.limiter.failed(era, retry_after)
        if state.limiter.limit < before:
            logger.info("%s: at most %d calls in flight now, %d before", model, state.limiter.limit, before)
        if retry_after is not None:
            logger.info("%s: the server asks to wait %.1f s", model, retry_after)
            self.tally.wait_until = max(self.tally.wait_until, time.monotonic() + retry_after)
        self._settled(model, size, billed)

    def refused(
        self, model: str, for_good: bool = False, size: CallSize = NO_SIZE, billed: bool = False
    ) -> None:
        state = self._failed(model)
        state.exhausted = True
        state.useless = state.useless or for_good
        self._settled(model, size, billed)

    def abandoned(self, model: str, size: CallSize = NO_SIZE, billed: bool = False) -> None:
        self.tally.calls += billed
        self._settled(model, size, billed)

    def models_to_abort(self, tries: int) -> set[str]:
        """The models to which further calls would be wasted."""
        return {
            model
            for model, state in self._models.items()
            if state.lost or state.failures_in_a_row >= BREAKER * tries
        }

    def give_up(self, model: str, why: str) -> None:
        """Make no more calls to a model; calls in flight are awaited."""
        state = self._models[model]
        if state.closed is None:
            logger.warning("%s: no more calls: %s", model, why)
            state.closed = ModelGivenUp(why)
            state.limiter.refuse_all(state.closed)

    def _failed(self, model: str) -> _ModelState:
        state = self._models[model]
        state.failures_in_a_row += 1
        self.tally.calls += 1
        return state
