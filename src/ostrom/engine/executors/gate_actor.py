"""The gate of a run on a cluster: one actor, from which every worker requests a slot for each call."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from ostrom.engine.cache import Cache
from ostrom.engine.executors.wire import CallOutcome, Failure
from ostrom.engine.gate import RunGate, Stopped
from ostrom.engine.plan import Budget, Tally
from ostrom.ground.errors import BudgetSpent, ModelGivenUp, OstromError
from ostrom.models.base import Reply


class _RemoteSlot:
    """A slot request of a worker."""

    dropped = False

    def __init__(self) -> None:
        self.era: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def start(self, era: int) -> None:
        self.era.set_result(era)

    def refuse(self, error: OstromError) -> None:
        self.era.set_exception(error)


class GateActor:
    """The gate of a run as an actor. It lives on the driver's machine, so losing a worker never loses it.

    The slots of a lost worker are freed; outcomes that it still reports are ignored.
    """

    def __init__(
        self, tally: Tally, budget: Budget, models: Mapping[str, tuple[int, int]], cache: Path | None
    ) -> None:
        self._gate = RunGate(tally, budget, asyncio.Event())
        for model, (start, most) in models.items():
            self._gate.open(model, start, most)
        self._held: dict[str, Counter[str]] = {}
        self._lost: set[str] = set()
        self._cache = None if cache is None else Cache(cache)

    async def acquire(self, worker: str, model: str, wanted: int = 1) -> list[int] | Failure:
        """Slots for calls: wait for one, then take as many of the wanted ones as are free."""
        eras: list[int] = []
        try:
            place = _RemoteSlot()
            self._gate.request_slot(model, place)
            eras.append(await place.era)
            while len(eras) < wanted and (era := self._gate.try_acquire(model)) is not None:
                eras.append(era)
        except (Stopped, BudgetSpent, ModelGivenUp) as error:
            if not eras:
                return Failure.of(error)
        if worker in self._lost:
            for _ in eras:
                CallOutcome(model, "abandoned").apply_to(self._gate)
            return Failure.of(Stopped("this worker was given up"))
        self._held.setdefault(worker, Counter())[model] += len(eras)
        return eras

    async def release(self, worker: str, outcomes: Sequence[CallOutcome]) -> None:
        """How calls of a worker ended."""
        for outcome in outcomes:
            held = self._held.get(worker)
            if held and held[outcome.model]:
                held[outcome.model] -= 1
                outcome.apply_to(self._gate)

    async def lost(self, worker: str) -> None:
        """A worker is gone: free its slots."""
        self._lost.add(worker)
        for model, places in self._held.pop(worker, Counter()).items():
            for _ in range(places):
                CallOutcome(model, "abandoned").apply_to(self._gate)

    async def stop(self) -> None:
        """Grant no more slots."""
        self._gate.stop()

    async def in_flight(self) -> int:
        """Calls under way in the whole cluster."""
        return self._gate.tally.in_flight

    async def models_to_abort(self, tries: int) -> set[str]:
        """The models that fail steadily."""
        return self._gate.models_to_abort(tries)

    async def give_up(self, model: str, why: str) -> None:
        """Let no more calls through to a model."""
        self._gate.give_up(model, why)

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
