"""How many calls may be in flight: additive increase, multiplicative decrease, one limiter per model."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from ostrom.errors import OstromError


class SlotRequest(Protocol):
    """Somebody who asked for a place."""

    dropped: bool
    """Whether the place is no longer wanted."""

    def start(self, era: int) -> None:
        """There is a place; the era is to be handed back with the result."""
        ...

    def refuse(self, error: OstromError) -> None:
        """There will be no place."""
        ...


class Limiter:
    """Lets calls through in order of arrival and adapts to what the server bears.

    Every success widens the limit by 1/limit, up to ``most``; trouble halves it, at most once for all the
    calls that were under way when trouble began. A wish for patience (Retry-After) holds everyone back.
    ``admit`` is asked before each call goes; it raises an OstromError where none may go any more.
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
        """Ask for a place. It is had at once or later: whoever gives a place back sends the next one off."""
        self._waiting.append(request)
        self._grant_free_slots()

    def try_acquire(self) -> int | None:
        """A place if one is free at once, else None."""
        if self._waiting or self.in_flight >= int(self.limit) or self._is_paused():
            return None
        self._admit()
        self.in_flight += 1
        return self._era

    def succeeded(self) -> None:
        """A call came back well; its place may have been left before that was known."""
        self.limit = min(float(self.most), self.limit + 1.0 / self.limit)
        self._grant_free_slots()

    def failed(self, era: int, retry_after: float | None = None) -> None:
        """A call met a limit, a failure or a timeout; its place is left after this was heard."""
        if era == self._era:
            self._era += 1
            self.limit = max(1.0, self.limit / 2)
        if retry_after is not None:
            until = asyncio.get_running_loop().time() + retry_after
            self._pause_until = max(self._pause_until, until)

    def refuse_all(self, error: OstromError) -> None:
        """Refuse everybody who waits."""
        while self._waiting:
            request = self._waiting.popleft()
            if not request.dropped:
                request.refuse(error)

    def release(self) -> None:
        """A place is free again."""
        self.in_flight -= 1
        self._grant_free_slots()

    def _grant_free_slots(self) -> None:
        """Give free places to those who wait."""
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
        """Whether everyone has to be patient; then the end of it is not missed."""
        if not self._pause_until:
            return False
        loop = asyncio.get_running_loop()
        if self._pause_until <= loop.time():
            self._pause_until = 0.0
            return False
        if self._alarm is None or self._alarm_at < self._pause_until:
            if self._alarm is not None:
                self._alarm.cancel()
            # Kept beside the timer: not every event loop's timer can say when it is due.
            self._alarm_at = self._pause_until
            self._alarm = loop.call_at(self._alarm_at, self._end_pause)
        return True

    def _end_pause(self) -> None:
        self._alarm = None
        self._grant_free_slots()
