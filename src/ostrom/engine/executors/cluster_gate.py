"""The gate of the run as a worker sees it: through the gatekeeper, one message for all that happens at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any

from ostrom.engine.executors.wire import Failure, Word
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
        self._own = {m: asyncio.Semaphore(c) for m, c in ceilings.items() if c is not None}
        self._waiting: dict[str, deque[asyncio.Future[int]]] = {m: deque() for m in ceilings}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._words: list[Word] = []

    async def enter(self, model: str) -> int:
        own = self._own.get(model)
        if own is not None:
            await own.acquire()
        place: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting[model].append(place)
        if model not in self._asking:
            self._asking[model] = asyncio.create_task(self._ask(model))
        try:
            return await place
        except OstromError:
            self._let_go(model)
            raise

    def succeeded(self, model: str, usage: Usage, usd: float | None) -> None:
        self._say(Word(model, "succeeded", (usage, usd)))

    def troubled(self, model: str, era: int, retry_after: float | None) -> None:
        self._say(Word(model, "troubled", (era, retry_after)))

    def refused(self, model: str) -> None:
        self._say(Word(model, "refused"))

    def left(self, model: str) -> None:
        self._say(Word(model, "left"))

    async def get(self, key: bytes) -> Reply | None:
        """A reply kept from another run."""
        kept: Reply | None = await self._answer(self._keeper.get.remote(key))
        return kept

    def put(self, key: bytes, reply: Reply) -> None:
        """Keep a reply for other runs."""
        self._keeper.put.remote(key, reply)

    async def _ask(self, model: str) -> None:
        """Ask for places until nobody waits; whoever comes in the meantime is asked for the next time."""
        waiting = self._waiting[model]
        await asyncio.sleep(0)
        try:
            while waiting:
                found = await self._answer(self._keeper.enter.remote(self._worker, model, len(waiting)))
                if isinstance(found, Failure):
                    raise found.error()
                for era in found:
                    waiting.popleft().set_result(era)
        except OstromError as error:
            while waiting:
                waiting.popleft().set_exception(error)
        finally:
            del self._asking[model]

    def _say(self, word: Word) -> None:
        self._let_go(word.model)
        if not self._words:
            asyncio.get_running_loop().call_soon(self._tell)
        self._words.append(word)

    def _tell(self) -> None:
        words, self._words = self._words, []
        self._keeper.leave.remote(self._worker, words)

    def _let_go(self, model: str) -> None:
        if model in self._own:
            self._own[model].release()

    async def _answer(self, reference: Any) -> Any:
        from ray.exceptions import RayActorError

        try:
            return await reference
        except RayActorError:
            raise RunError("the limiter of the cluster is gone; run the same command to go on") from None
