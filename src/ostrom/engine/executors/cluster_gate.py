"""The gate of the run as a worker sees it: through the gatekeeper, one message for all that happens at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any

from ostrom.engine.executors.wire import Failure, Word
from ostrom.engine.limits import Waiter
from ostrom.errors import OstromError, RunError
from ostrom.models.base import Reply, Usage


class ClusterGate:
    """Asks the gatekeeper for places and tells it how calls ended.

    Matches of a worker move on together, when what they wait for has become durable. So their calls ask for
    places in the same moment, and one message carries them all. The cache of the run lies there too.
    """

    def __init__(self, worker: str, keeper: Any, ceilings: Mapping[str, int | None]) -> None:
        self._worker, self._keeper = worker, keeper
        # A model inside the worker serves few calls at a time, whatever the cluster as a whole may do.
        self._free = {m: c for m, c in ceilings.items() if c is not None}
        self._waiting: dict[str, deque[Waiter]] = {m: deque() for m in ceilings}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._words: list[Word] = []

    def ask(self, model: str, waiter: Waiter) -> None:
        self._waiting[model].append(waiter)
        self._begin_to_ask(model)

    def succeeded(self, model: str, usage: Usage, usd: float | None) -> None:
        self._say(Word(model, "succeeded", (usage, usd)))

    def troubled(self, model: str, era: int, retry_after: float | None, last: bool = False) -> None:
        self._say(Word(model, "troubled", (era, retry_after, last)))

    def refused(self, model: str, for_good: bool = False) -> None:
        self._say(Word(model, "refused", (for_good,)))

    def abandoned(self, model: str) -> None:
        self._say(Word(model, "abandoned"))

    def left(self, model: str) -> None:
        """Nothing is said: a place in the cluster is given back with the word on how it went."""

    async def get(self, key: bytes) -> Reply | None:
        """A reply kept from another run."""
        kept: Reply | None = await self._answer(self._keeper.get.remote(key))
        return kept

    def put(self, key: bytes, reply: Reply) -> None:
        """Keep a reply for other runs."""
        self._keeper.put.remote(key, reply)

    def _who_waits(self, model: str) -> deque[Waiter]:
        waiting = self._waiting[model]
        while waiting and waiting[0].dropped:
            waiting.popleft()
        return waiting

    def _wanted(self, model: str) -> int:
        """How many wait for a place, as far as they can be served here."""
        waiting = len(self._who_waits(model))
        return min(waiting, self._free.get(model, waiting))

    def _begin_to_ask(self, model: str) -> None:
        if model not in self._asking and self._wanted(model):
            self._asking[model] = asyncio.create_task(self._ask(model))

    async def _ask(self, model: str) -> None:
        """Ask for places until nobody waits; whoever comes in the meantime is asked for the next time."""
        await asyncio.sleep(0)
        try:
            while wanted := self._wanted(model):
                found = await self._answer(self._keeper.enter.remote(self._worker, model, wanted))
                if isinstance(found, Failure):
                    raise found.error()
                for era in found:
                    self._send_off(model, era)
        except OstromError as error:
            waiting = self._waiting[model]
            while waiting:
                waiting.popleft().refuse(error)
        finally:
            del self._asking[model]

    def _send_off(self, model: str, era: int) -> None:
        if model in self._free:
            self._free[model] -= 1
        if waiting := self._who_waits(model):
            waiting.popleft().go(era)
        else:
            self.abandoned(model)

    def _say(self, word: Word) -> None:
        if word.model in self._free:
            self._free[word.model] += 1
            self._begin_to_ask(word.model)
        if not self._words:
            asyncio.get_running_loop().call_soon(self._tell)
        self._words.append(word)

    def _tell(self) -> None:
        words, self._words = self._words, []
        self._keeper.leave.remote(self._worker, words)

    async def _answer(self, reference: Any) -> Any:
        from ray.exceptions import RayActorError

        try:
            return await reference
        except RayActorError:
            raise RunError("the limiter of the cluster is gone; run the same command to go on") from None
