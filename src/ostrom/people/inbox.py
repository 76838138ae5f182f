"""The inbox: decisions that wait for a person, each at its place; an answer settles it if that place is open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ostrom.answers import Answer
from ostrom.framing import Prompt
from ostrom.games.amounts import Options
from ostrom.mechanisms.protocol import Decision
from ostrom.memory import Shown

GRACE = 1.0
"""Seconds after a deadline in which an answer that was on its way still counts."""


@dataclass(slots=True, eq=False)
class Open:
    """A decision that waits for one person."""

    unit: int
    step: int
    player: int
    decision: Decision
    prompt: Prompt | None = None
    """The words of the situation and the labels of the options, in a match."""
    fields: str = ""
    """What the fields of a stated strategy are about; empty for other decisions, whose fields need no explanation."""
    past: Shown | None = None
    """What the person's memory shows of the past."""
    labels: tuple[Options, ...] = ()
    """Labels of every seat's actions, in a match."""
    due: float = 0.0
    """From when on it may be shown, on the loop's clock."""
    limit: float | None = None
    """Seconds for the answer, from when it is shown."""
    interrupted: bool = False
    """Whether it was open before the server was started again."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What is kept with the answer."""
    shown: float | None = None
    extended: int = 0
    """How often more time was asked for."""
    deadline: float | None = None
    answer: asyncio.Future[Answer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    taken: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the answer is on its way to the journal."""
    timer: asyncio.TimerHandle | None = None

    @property
    def place(self) -> str:
        """Unit, step and player: names this question and no other."""
        return f"{self.unit}.{self.step}.{self.player}"


class Inbox:
    """All decisions that wait for people, by unit and player: a player has one at a time."""

    def __init__(self, changed: Callable[[int, int], None]) -> None:
        self._open: dict[tuple[int, int], Open] = {}
        self._changed = changed

    def __len__(self) -> int:
        return len(self._open)

    def at(self, unit: int, player: int) -> Open | None:
        """What waits for a player."""
        return self._open.get((unit, player))

    async def ask(self, entry: Open) -> Answer:
        """Put a decision into the inbox and wait for its answer."""
        loop = asyncio.get_running_loop()
        key = (entry.unit, entry.player)
        self._open[key] = entry
        wait = entry.due - loop.time()
        if wait > 0:
            entry.timer = loop.call_later(wait, self._changed, *key)
        self._changed(*key)
        try:
            answer = await entry.answer
        finally:
            if entry.timer is not None:
                entry.timer.cancel()
            if self._open.get(key) is entry:
                del self._open[key]
        # Nothing is awaited between here and the journal: whoever waits for this can flush it.
        entry.taken.set()
        return answer

    def show(self, entry: Open, now: float, missed: Callable[[Open], Answer]) -> None:
        """The decision is on its way to the person: its clock starts, once."""
        if entry.shown is not None:
            return
        entry.shown = now
        if entry.limit is not None:
            entry.deadline = now + entry.limit
            loop = asyncio.get_running_loop()
            entry.timer = loop.call_later(entry.limit + GRACE, self._expire, entry, missed)

    def extend(self, entry: Open, missed: Callable[[Open], Answer]) -> bool:
        """Start the clock of a decision anew; False where it is over."""
        if entry.deadline is None or entry.limit is None or entry.answer.done():
            return False
        loop = asyncio.get_running_loop()
        if entry.timer is not None:
            entry.timer.cancel()
        entry.extended += 1
        entry.deadline = loop.time() + entry.limit
        entry.timer = loop.call_later(entry.limit + GRACE, self._expire, entry, missed)
        return True

    def _expire(self, entry: Open, missed: Callable[[Open], Answer]) -> None:
        self.settle(entry, missed(entry))

    def settle(self, entry: Open, answer: Answer) -> bool:
        """Answer a decision; False where it has been answered already."""
        if entry.answer.done() or self._open.get((entry.unit, entry.player)) is not entry:
            return False
        entry.answer.set_result(answer)
        return True
