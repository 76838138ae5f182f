"""How many calls may be in flight: additive increase, multiplicative decrease, one limiter per model."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from ostrom.ground.errors import OstromError


class SlotRequest(Protocol):
    """A call that waits for a slot."""

    dropped: bool
    """Whether the slot is no longer wanted."""

    def start(self, era: int) -> None:
        """A slot is granted; pass the era on to ``failed`` if the call fails."""

    def refuse(self, error: OstromError) -> None:
        """No slot will be granted."""


class Limiter:
    """Grants call slots in order of request and adapts their number to the server.

    Every success raises the limit by 1/limit, up to ``most``; a failure halves it, at most once for all calls that
    were in flight when the first of them failed (one era). Retry-After pauses all calls to this model. ``admit`` is
    called before each slot is granted; it raises an OstromError when no more calls may start.
    """

    def __init__(self, start: int, most: int, admit: Callable[[], None]) -> None:
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
        self._grant_free_slots()

    def try_acquire(self) -> int | None:
        """Take a slot if one is free now; gives its era, else None."""
        if self._waiting or self.in_flight >= int(self.limit) or self._is_paused():
            return None
        self._admit()
        self.in_flight += 1
        return self._era

    def succeeded(self) -> None:
        """A call succeeded; its slot may have been released before."""
        self.limit = min(float(self.most), self.limit + 1.0 / self.limit)
        self._grant_free_slots()

    def failed(self, era: int, retry_after: float | None = None) -> None:
        """A call met a rate limit, a failure or a timeout. Call this before ``release``."""
        if era == self._era:
            self._era += 1
            self.limit = max(1.0, self.limit / 2)
        if retry_after is not None:
            until = asyncio.get_running_loop().time() + retry_after
            self._pause_until = max(self._pause_until, until)

    def refuse_all(self, error: OstromError) -> None:
        """Refuse all queued requests."""
        while self._waiting:
            request = self._waiting.popleft()
            if not request.dropped:
                request.refuse(error)

    def release(self) -> None:
        """Free one slot."""
        self.in_flight -= 1
        self._grant_free_slots()

    def _grant_free_slots(self) -> None:
        """Grant free slots to queued requests."""
        waiting = self._waiting
        while waiting and self.in_flight < int(self.limit) and not self._is_paused():
            request = waiting.popleft()
            if request.dropped:
                continue
            try:
                self._admit()
            except OstromError as error:
                request.refuse(error)
                continue
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
        self._grant_free_slots()
