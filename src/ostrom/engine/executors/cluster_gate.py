"""The gate of the run as a worker sees it: through the gate actor, one message for all that happens at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any

from ostrom.engine.executors.wire import CallOutcome, Failure
from ostrom.engine.limits import SlotRequest
from ostrom.ground.errors import OstromError, RunError
from ostrom.models.base import Reply, Usage


class ClusterGate:
    """Requests call slots from the gate actor and reports how calls ended.

    Matches of a worker continue together when the driver acknowledges a batch, so their calls request slots at the
    same time and one message carries all requests. The gate actor also serves the reply cache.
    """

    def __init__(self, worker: str, gate_actor: Any, ceilings: Mapping[str, int | None]) -> None:
        self._worker, self._gate_actor = worker, gate_actor
        # A model inside the worker serves few calls at a time, whatever the limit of the cluster is.
        self._free = {m: c for m, c in ceilings.items() if c is not None}
        self._waiting: dict[str, deque[SlotRequest]] = {m: deque() for m in ceilings}
        self._requesting: dict[str, asyncio.Task[None]] = {}
        self._outcomes: list[CallOutcome] = []

    def request_slot(self, model: str, request: SlotRequest) -> None:
        self._waiting[model].append(request)
        self._start_requesting(model)

    def succeeded(self, model: str, usage: Usage, usd: float | None) -> None:
        self._report_outcome(CallOutcome(model, "succeeded", (usage, usd)))

    def failed(self, model: str, era: int, retry_after: float | None, last: bool = False) -> None:
        self._report_outcome(CallOutcome(model, "failed", (era, retry_after, last)))

    def refused(self, model: str, for_good: bool = False) -> None:
        self._report_outcome(CallOutcome(model, "refused", (for_good,)))

    def abandoned(self, model: str) -> None:
        self._report_outcome(CallOutcome(model, "abandoned"))

    def release(self, model: str) -> None:
        """Nothing to do: the gate actor frees the slot when it receives the outcome."""

    async def get(self, key: bytes) -> Reply | None:
        """A reply kept from another run."""
        kept: Reply | None = await self._answer(self._gate_actor.get.remote(key))
        return kept

    def put(self, key: bytes, reply: Reply) -> None:
        """Keep a reply for other runs."""
        self._gate_actor.put.remote(key, reply)

    def _pending(self, model: str) -> deque[SlotRequest]:
        waiting = self._waiting[model]
        while waiting and waiting[0].dropped:
            waiting.popleft()
        return waiting

    def _wanted(self, model: str) -> int:
        """How many slots to request: the queue length, at most what this worker can serve."""
        waiting = len(self._pending(model))
        return min(waiting, self._free.get(model, waiting))

    def _start_requesting(self, model: str) -> None:
        if model not in self._requesting and self._wanted(model):
            self._requesting[model] = asyncio.create_task(self._ask(model))

    async def _ask(self, model: str) -> None:
        """Request slots until the queue is empty; requests queued meanwhile are included next time."""
        await asyncio.sleep(0)
        try:
            while wanted := self._wanted(model):
                found = await self._answer(self._gate_actor.acquire.remote(self._worker, model, wanted))
                if isinstance(found, Failure):
                    raise found.error()
                for era in found:
                    self._grant(model, era)
        except OstromError as error:
            waiting = self._waiting[model]
            while waiting:
                waiting.popleft().refuse(error)
        finally:
            del self._requesting[model]

    def _grant(self, model: str, era: int) -> None:
        if model in self._free:
            self._free[model] -= 1
        if waiting := self._pending(model):
            waiting.popleft().start(era)
        else:
            self.abandoned(model)

    def _report_outcome(self, outcome: CallOutcome) -> None:
        if outcome.model in self._free:
            self._free[outcome.model] += 1
            self._start_requesting(outcome.model)
        if not self._outcomes:
            asyncio.get_running_loop().call_soon(self._flush_outcomes)
        self._outcomes.append(outcome)

    def _flush_outcomes(self) -> None:
        outcomes, self._outcomes = self._outcomes, []
        self._gate_actor.release.remote(self._worker, outcomes)

    async def _answer(self, reference: Any) -> Any:
        from ray.exceptions import RayActorError

        try:
            return await reference
        except RayActorError:
            raise RunError("the limiter of the cluster is gone; run the same command to go on") from None
