"""A visit that is under way, as the host keeps it in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from ostrom.games.amounts import Options


@dataclass(slots=True, eq=False)
class LiveVisit:
    """The state of one participant's visit in this process."""

    visit: int
    code: str
    test: bool
    language: str
    began: float
    """Seconds since 1970."""
    here: float
    """When the visit began or was resumed in this process (event-loop time)."""
    before: float = 0.0
    """Seconds that the visit had lasted before ``here``, in earlier processes."""
    cell: int | None = None
    table: int | None = None
    """The match that is under way."""
    player: int | None = None
    factor: float | None = 1.0
    """Multiplier of the time limit of a decision; None means no limit."""
    end: str | None = None
    earned: str | None = None
    """The end that determines the payment: it stays ``done`` if a participant withdraws the data after finishing."""
    points: float = 0.0
    seen: float = 0.0
    """When the last request of the participant arrived (event-loop time)."""
    answered: float | None = None
    """When the last answer of a match arrived (event-loop time)."""
    rounds: int = 0
    """Rounds finished when the last question of a match was asked."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    leaving: str | None = None
    """The end that was chosen, while open questions are still being closed."""
    resumed: bool = False
    """Whether the visit was resumed at server start and has not been answered since."""
    state: str = "arrived"
    result: dict[str, Any] | None = None
    """The result of the last match, shown once."""
    step: int = 0
    """The step of the visit, from 0."""
    labels: tuple[Options, ...] = ()
    """The labels of the actions in the current match."""
    streams: int = 0
    """Number of open event streams of this participant."""
    version: int = 0
    _waiting: set[asyncio.Future[None]] = field(default_factory=set)

    def offset(self, at: float) -> int:
        """Milliseconds since the visit began, from event-loop time, so changes of the system clock do not matter."""
        return round((self.before + at - self.here) * 1000)

    def changed(self) -> None:
        """Increase the version and wake all that wait in ``news``."""
        self.version += 1
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
        self._waiting.clear()

    async def news(self, since: int, timeout: float) -> int:
        """Wait until the version differs from ``since``, at most ``timeout`` seconds; return the current version."""
        if self.version == since:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.add(future)
            handle = asyncio.get_running_loop().call_later(timeout, _wake, future)
            try:
                await future
            finally:
                handle.cancel()
                self._waiting.discard(future)
        return self.version


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
