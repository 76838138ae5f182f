"""Every model call of a run goes through here: journal, cache, the gate, retries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ostrom.engine.cache import call_key
from ostrom.engine.gate import Gate, Stopped
from ostrom.engine.journal import CallRecord
from ostrom.engine.plan import Tally, Unit
from ostrom.engine.retries import Patience
from ostrom.errors import ModelError
from ostrom.models.base import Model, Reply, Request
from ostrom.models.prices import price_of


class Calls(Protocol):
    """Where tries at calls are written down."""

    def call(self, record: CallRecord) -> None:
        """Queue a try at a call."""
        ...


class Kept(Protocol):
    """Replies kept from other runs, here or elsewhere."""

    async def get(self, key: bytes) -> Reply | None:
        """A kept reply."""
        ...

    def put(self, key: bytes, reply: Reply) -> None:
        """Keep a reply."""
        ...


class Caller:
    """Makes calls for all matches that are played in this process."""

    def __init__(
        self,
        journal: Calls,
        tally: Tally,
        gate: Gate,
        stopping: asyncio.Event,
        patience: Patience,
        cache: Kept | None = None,
        prices: Mapping[str, Any] | None = None,
    ) -> None:
        self.journal, self.tally, self.gate, self.stopping = journal, tally, gate, stopping
        self.patience, self.cache, self.prices = patience, cache, prices
        self._descriptions: dict[str, Mapping[str, Any]] = {}

    def open(self, model: Model) -> None:
        """Take a model into the run."""
        self._descriptions[model.name] = model.describe()

    async def call(
        self, unit: Unit, step: int, player: int, part: str, model: Model, request: Request
    ) -> Reply:
        """One call, tried as often as patience allows; every try is journaled."""
        name, gate = model.name, self.gate
        key = self.key(unit, step, player, part, model, request)
        record = _Record(unit.index, step, player, part, key, request, name)
        if self.cache is not None and (kept := await self.cache.get(key)) is not None:
            self.tally.cached += 1
            self.journal.call(record.done(0, time.time(), kept, 0.0, 0.0, "cache"))
            return kept
        for attempt in range(1, self.patience.tries + 1):
            era = await gate.enter(name)
            begun, clock = time.time(), time.perf_counter()
            try:
                reply = await model.complete(request)
            except ModelError as error:
                self.journal.call(record.failed(attempt, begun, error, time.perf_counter() - clock))
                if not error.retryable:
                    gate.refused(name)
                    raise
                gate.troubled(name, era, error.retry_after)
                if attempt == self.patience.tries:
                    raise
                self.tally.retries += 1
                await self._rest(self.patience.wait(attempt, error.retry_after))
                continue
            except BaseException:
                gate.left(name)
                raise
            usd = price_of(name, reply.usage, self.prices)
            gate.succeeded(name, reply.usage, usd)
            self.journal.call(record.done(attempt, begun, reply, usd, time.perf_counter() - clock, "live"))
            if self.cache is not None:
                self.cache.put(key, reply)
            return reply
        raise AssertionError("unreachable: the last try returns or raises")

    def key(self, unit: Unit, step: int, player: int, part: str, model: Model, request: Request) -> bytes:
        """The key under which a call is journaled."""
        description = self._descriptions[model.name]
        return call_key(description, request, (unit.seed, unit.streams.match, step, player, part))

    async def _rest(self, seconds: float) -> None:
        """Wait before another try, unless the run is being stopped."""
        try:
            await asyncio.wait_for(self.stopping.wait(), seconds)
        except TimeoutError:
            return
        raise Stopped("stopped")


@dataclass(frozen=True, slots=True)
class _Record:
    """The parts of a journal entry that all tries of a call share."""

    unit: int
    step: int
    player: int
    part: str
    key: bytes
    request: Request
    model: str

    def _entry(
        self,
        try_: int,
        at: float,
        reply: Reply | None,
        usd: float | None,
        latency: float,
        source: str,
        error: str | None = None,
        status: int | None = None,
    ) -> CallRecord:
        params = dict(self.request.params)
        if self.request.constraint is not None:
            constraint = self.request.constraint
            params["constraint"] = {"choices": constraint.choices, "schema": constraint.schema}
        return CallRecord(
            self.unit, self.step, self.player, self.part, try_, at, self.model, self.key,
            self.request.messages, params, reply, usd, latency, source, error, status,
        )  # fmt: skip

    def done(
        self, try_: int, at: float, reply: Reply, usd: float | None, latency: float, source: str
    ) -> CallRecord:
        return self._entry(try_, at, reply, usd, latency, source)

    def failed(self, try_: int, at: float, error: ModelError, latency: float) -> CallRecord:
        text = f"{type(error).__name__}: {error}"
        return self._entry(try_, at, None, None, latency, "live", text, error.status)
