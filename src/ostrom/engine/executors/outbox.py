"""Sends entries from a worker to the journal in batches; a batch is durable once the driver acknowledges it."""

from __future__ import annotations

import asyncio
from collections import Counter

from ostrom.answers import Answer
from ostrom.engine.entries import CallRecord
from ostrom.engine.executors.wire import AnswerEntry, Batch


class Outbox:
    """Takes entries like a journal; the driver fetches them and acknowledges what it has written.

    Whatever piles up while the driver writes one batch leaves with the next, so that a slow disk or a long
    way costs one exchange for all matches of the worker together.
    """

    def __init__(self) -> None:
        self.complaints: Counter[int] = Counter()
        """Complaints that were journaled, by unit."""
        self._entries: list[AnswerEntry | CallRecord] = []
        self._some = asyncio.Event()
        self._sent = self._written = 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def answer(
        self,
        unit: int,
        step: int,
        player: int,
        part: str,
        answer: Answer,
        complaints: int,
        asked: str | None = None,
    ) -> None:
        """Queue an answer and what was asked."""
        self.complaints[unit] += complaints
        self._entries.append((unit, step, player, part, answer, complaints, asked))
        self._some.set()

    def call(self, record: CallRecord) -> None:
        """Queue a try at a call."""
        self._entries.append(record)
        self._some.set()

    async def flush(self) -> None:
        """Wait until the driver has made everything queued so far durable."""
        needed = self._sent + 1 if self._entries else self._sent
        if needed <= self._written:
            return
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((needed, written))
        await written

    async def exchange(self, written: int) -> Batch:
        """The driver has written so many batches; it gets the next one as soon as there is one."""
        self._written = written
        still = []
        for needed, future in self._waiting:
            if needed > written:
                still.append((needed, future))
            elif not future.done():
                future.set_result(None)
        self._waiting = still
        await self._some.wait()
        self._some.clear()
        entries, self._entries = self._entries, []
        self._sent += 1
        return Batch(self._sent, entries)
