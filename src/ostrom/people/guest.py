"""A visit that is under way, as the host keeps it in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, eq=False)
class Guest:
    """One person who is here, or was."""

    visit: int
    code: str
    test: bool
    language: str
    began: float
    """Seconds since 1970."""
    here: float
    """When the visit began or was taken up, on the loop's clock."""
    before: float = 0.0
    """Seconds of the visit until then."""
    cell: int | None = None
    table: int | None = None
    """The match that is under way."""
    player: int | None = None
    factor: float | None = 1.0
    """By what the time for a decision is multiplied; None: there is no limit."""
    end: str | None = None
    earned: str | None = None
    """The end that the payment follows: whoever finished and takes everything back later has finished."""
    points: float = 0.0
    seen: float = 0.0
    """When the person was last heard of, on the loop's clock."""
    answered: float | None = None
    """When the last answer of a match came, on the loop's clock."""
    rounds: int = 0
    """How many rounds were finished when the last question of a match was put."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    leaving: str | None = None
    """The end that was chosen, while what is open is being closed."""
    resumed: bool = False
    """Whether the visit was under way when the server was started, and nothing was answered since."""
    state: str = "arrived"
    result: dict[str, Any] | None = None
    """What the last match came to, to be shown once."""
    step: int = 0
    """The step of the visit, from 0."""
    labels: tuple[tuple[str, ...], ...] = ()
    """What the actions of the match are called."""
    streams: int = 0
    """How many streams of news are open."""
    version: int = 0
    _waiting: set[asyncio.Future[None]] = field(default_factory=set)

    def offset(self, at: float) -> int:
        """Milliseconds of the visit at a moment on the loop's clock, which no change of the date disturbs."""
        return round((self.before + at - self.here) * 1000)

    def changed(self) -> None:
        """There is something new to see."""
        self.version += 1
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
        self._waiting.clear()

    async def news(self, since: int, timeout: float) -> int:
        """Wait until there is something newer than a version, or for so many seconds; the version then."""
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
