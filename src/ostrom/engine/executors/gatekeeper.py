"""The limiter of a cluster: one actor keeps the gate of the run, and every worker asks it for each call."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ostrom.engine.cache import Cache
from ostrom.engine.executors.wire import Failure
from ostrom.engine.gate import RunGate, Stopped
from ostrom.engine.plan import Budget, Tally
from ostrom.errors import BudgetSpent, OstromError, RunError
from ostrom.models.base import Reply, Usage


class Gatekeeper:
    """The gate of a run as an actor. It lives on the driver's machine, so losing a worker never loses it.

    What a lost worker held is given back; whatever it still says is ignored.
    """

    def __init__(
        self, tally: Tally, budget: Budget, doors: Mapping[str, tuple[int, int]], cache: Path | None
    ) -> None:
        self._gate = RunGate(tally, budget, asyncio.Event())
        for model, (start, most) in doors.items():
            self._gate.open(model, start, most)
        self._held: dict[str, Counter[str]] = {}
        self._lost: set[str] = set()
        self._cache = None if cache is None else Cache(cache)

    async def enter(self, worker: str, model: str) -> int | Failure:
        """A place for a call, or why there is none."""
        try:
            era = await self._gate.enter(model)
        except (Stopped, BudgetSpent) as error:
            return Failure.of(error)
        if worker in self._lost:
            self._gate.left(model)
            return Failure.of(Stopped("this worker was given up"))
        self._held.setdefault(worker, Counter())[model] += 1
        return era

    async def succeeded(self, worker: str, model: str, usage: Usage, usd: float | None) -> None:
        """A call came back well."""
        if self._gives_back(worker, model):
            self._gate.succeeded(model, usage, usd)

    async def troubled(self, worker: str, model: str, era: int, retry_after: float | None) -> None:
        """A call met a limit, a failure or a timeout."""
        if self._gives_back(worker, model):
            self._gate.troubled(model, era, retry_after)

    async def refused(self, worker: str, model: str) -> None:
        """The server declined a call."""
        if self._gives_back(worker, model):
            self._gate.refused(model)

    async def left(self, worker: str, model: str) -> None:
        """A call ended for other reasons."""
        if self._gives_back(worker, model):
            self._gate.left(model)

    async def lost(self, worker: str) -> None:
        """A worker is gone: its places are free again."""
        self._lost.add(worker)
        for model, places in self._held.pop(worker, Counter()).items():
            for _ in range(places):
                self._gate.left(model)

    async def stop(self) -> None:
        """Let nobody in any more."""
        self._gate.stopping.set()

    async def in_flight(self) -> int:
        """Calls under way in the whole cluster."""
        return self._gate.tally.in_flight

    async def hopeless(self, tries: int) -> bool:
        """Whether some model fails steadily."""
        return self._gate.hopeless(tries)

    async def get(self, key: bytes) -> Reply | None:
        """A reply kept from another run."""
        return None if self._cache is None else await self._cache.get(key)

    async def put(self, key: bytes, reply: Reply) -> None:
        """Keep a reply for other runs."""
        if self._cache is not None:
            self._cache.put(key, reply)

    async def close(self) -> None:
        """Close the cache."""
        if self._cache is not None:
            self._cache.close()

    def _gives_back(self, worker: str, model: str) -> bool:
        held = self._held.get(worker)
        if not held or not held[model]:
            return False
        held[model] -= 1
        return True


class ClusterGate:
    """The gate of the run, and its cache, as a worker sees them: through the gatekeeper."""

    def __init__(self, worker: str, keeper: Any, ceilings: Mapping[str, int | None]) -> None:
        self._worker, self._keeper = worker, keeper
        # A model inside the worker serves few calls at a time, whatever the cluster as a whole may do.
        self._own = {m: asyncio.Semaphore(c) for m, c in ceilings.items() if c is not None}

    async def enter(self, model: str) -> int:
        own = self._own.get(model)
        if own is not None:
            await own.acquire()
        try:
            answer: int | Failure = await self._ask(self._keeper.enter.remote(self._worker, model))
            if isinstance(answer, Failure):
                raise answer.error()
        except OstromError:
            self._let_go(model)
            raise
        return answer

    def succeeded(self, model: str, usage: Usage, usd: float | None) -> None:
        self._let_go(model)
        self._keeper.succeeded.remote(self._worker, model, usage, usd)

    def troubled(self, model: str, era: int, retry_after: float | None) -> None:
        self._let_go(model)
        self._keeper.troubled.remote(self._worker, model, era, retry_after)

    def refused(self, model: str) -> None:
        self._let_go(model)
        self._keeper.refused.remote(self._worker, model)

    def left(self, model: str) -> None:
        self._let_go(model)
        self._keeper.left.remote(self._worker, model)

    async def get(self, key: bytes) -> Reply | None:
        kept: Reply | None = await self._ask(self._keeper.get.remote(key))
        return kept

    def put(self, key: bytes, reply: Reply) -> None:
        self._keeper.put.remote(key, reply)

    def _let_go(self, model: str) -> None:
        if model in self._own:
            self._own[model].release()

    async def _ask(self, reference: Any) -> Any:
        from ray.exceptions import RayActorError

        try:
            return await reference
        except RayActorError:
            raise RunError("the limiter of the cluster is gone; run the same command to go on") from None
