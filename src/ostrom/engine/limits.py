"""How many calls may be in flight: additive increase, multiplicative decrease, one limiter per model."""

from __future__ import annotations

import asyncio
from collections import deque


class Limiter:
    """Lets calls through in order of arrival and adapts to what the server bears.

    Every success widens the limit by 1/limit, up to ``most``; trouble halves it, at most once for all the
    calls that were under way when trouble began. A wish for patience (Retry-After) holds everyone back.
    """

    def __init__(self, start: int, most: int) -> None:
        self.limit = float(max(1, min(start, most)))
        self.most = max(1, most)
        self.in_flight = 0
        self.peak = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._era = 0
        self._pause_until = 0.0

    async def acquire(self) -> int:
        """Wait for a place. Returns the era to hand back with the result."""
        if (era := self.try_acquire()) is not None:
            return era
        loop = asyncio.get_running_loop()
        if self.in_flight < int(self.limit) and not self._waiting:
            self.in_flight += 1  # free, but everyone is held back for a while
        else:
            place = loop.create_future()
            self._waiting.append(place)
            try:
                await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():
                    self._leave()  # the place was handed over in the same moment: pass it on
                raise
        self.peak = max(self.peak, self.in_flight)
        try:
            while (patience := self._pause_until - loop.time()) > 0:
                await asyncio.sleep(patience)
        except asyncio.CancelledError:
            self._leave()
            raise
        return self._era

    def try_acquire(self) -> int | None:
        """A place if one is free at once, else None."""
        if self._waiting or self.in_flight >= int(self.limit):
            return None
        if self._pause_until and self._pause_until > asyncio.get_running_loop().time():
            return None
        self.in_flight += 1
        if self.in_flight > self.peak:
            self.peak = self.in_flight
        return self._era

    def succeeded(self) -> None:
        """A call came back well."""
        self.limit = min(float(self.most), self.limit + 1.0 / self.limit)
        self._leave()

    def troubled(self, era: int, retry_after: float | None = None) -> None:
        """A call met a limit, a failure or a timeout."""
        if era == self._era:
            self._era += 1
            self.limit = max(1.0, self.limit / 2)
        if retry_after is not None:
            until = asyncio.get_running_loop().time() + retry_after
            self._pause_until = max(self._pause_until, until)
        self._leave()

    def left(self) -> None:
        """A call ended for reasons that say nothing about the server."""
        self._leave()

    def _leave(self) -> None:
        self.in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        # The place is taken on behalf of the one who waits, so that nobody slips in before it runs.
        while self._waiting and self.in_flight < int(self.limit):
            place = self._waiting.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)
