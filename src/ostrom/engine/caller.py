"""Every model call of a run goes through here: journal, cache, budget, limits, retries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ostrom.engine.cache import Cache, call_key
from ostrom.engine.journal import CallRecord, Journal
from ostrom.engine.limits import Limiter
from ostrom.engine.plan import Budget, Tally, Unit
from ostrom.engine.retries import Patience
from ostrom.errors import BudgetSpent, ModelError, OstromError
from ostrom.models.base import Model, Reply, Request
from ostrom.models.prices import price_of


class Stopped(OstromError):
    """The run is being stopped; what is under way ends here and goes on when the run is resumed."""


@dataclass(slots=True)
class Line:
    """What the run knows about one model."""

    model: Model
    limiter: Limiter
    description: Mapping[str, Any]
    successes: int = 0
    failures_in_a_row: int = 0


class Caller:
    """Makes calls for all matches of a run."""

    def __init__(
        self,
        journal: Journal,
        tally: Tally,
        budget: Budget,
        patience: Patience,
        cache: Cache | None = None,
        prices: Mapping[str, Any] | None = None,
    ) -> None:
        self.journal, self.tally, self.budget, self.patience = journal, tally, budget, patience
        self.cache, self.prices = cache, prices
        self.lines: dict[str, Line] = {}
        self.stopping = asyncio.Event()
        self._reserved = 0

    def open(self, name: str, model: Model, most: int) -> None:
        """Take a model into the run."""
        self.lines[name] = Line(model, Limiter(model.connections, most), model.describe())

    async def call(
        self, unit: Unit, step: int, player: int, part: str, model: Model, request: Request
    ) -> Reply:
        """One call, tried as often as patience allows; every try is journaled."""
        line = self.lines[model.name]
        key = call_key(line.description, request, (unit.seed, unit.streams.match, step, player, part))
        record = _Record(unit.index, step, player, part, key, request, model.name)
        if self.cache is not None and (kept := self.cache.get(key)) is not None:
            self.tally.cached += 1
            self.journal.call(record.done(0, time.time(), kept, 0.0, 0.0, "cache"))
            return kept
        for attempt in range(1, self.patience.tries + 1):
            era = await self._admit(line)
            begun, clock = time.time(), time.perf_counter()
            self.tally.in_flight += 1
            self._reserved += 1
            try:
                reply = await model.complete(request)
            except ModelError as error:
                latency = time.perf_counter() - clock
                self.journal.call(record.failed(attempt, begun, error, latency))
                self.tally.calls += 1
                line.failures_in_a_row += 1
                if not error.retryable:
                    line.limiter.left()
                    raise
                line.limiter.troubled(era, error.retry_after)
                if attempt == self.patience.tries:
                    raise
                self.tally.retries += 1
                await self._rest(self.patience.wait(attempt, error.retry_after))
                continue
            except BaseException:
                line.limiter.left()
                raise
            finally:
                self.tally.in_flight -= 1
                self._reserved -= 1
            line.limiter.succeeded()
            line.successes += 1
            line.failures_in_a_row = 0
            usd = price_of(model.name, reply.usage, self.prices)
            self._count(reply, usd)
            self.journal.call(record.done(attempt, begun, reply, usd, time.perf_counter() - clock, "live"))
            if self.cache is not None:
                self.cache.put(key, reply)
            return reply
        raise AssertionError("unreachable: the last try returns or raises")

    def key(self, unit: Unit, step: int, player: int, part: str, model: Model, request: Request) -> bytes:
        """The key under which a call is journaled."""
        description = self.lines[model.name].description
        return call_key(description, request, (unit.seed, unit.streams.match, step, player, part))

    async def _admit(self, line: Line) -> int:
        era = await line.limiter.acquire()
        try:
            if self.stopping.is_set():
                raise Stopped("stopped")
            self._check_budget()
        except OstromError:
            line.limiter.left()
            raise
        return era

    async def _rest(self, seconds: float) -> None:
        """Wait before another try, unless the run is being stopped."""
        try:
            await asyncio.wait_for(self.stopping.wait(), seconds)
        except TimeoutError:
            return
        raise Stopped("stopped")

    def _count(self, reply: Reply, usd: float | None) -> None:
        tally, usage = self.tally, reply.usage
        tally.calls += 1
        tally.tokens_in += usage.input or 0
        tally.tokens_out += usage.output or 0
        if usd is None:
            tally.unpriced += 1
        else:
            tally.usd += usd

    def _check_budget(self) -> None:
        """Refuse a call that the budget does not cover; calls under way count as the mean of those made."""
        budget, tally = self.budget, self.tally
        spent: str | None = None
        ahead = 1 + self._reserved / max(1, tally.calls)
        if budget.calls is not None and tally.calls + self._reserved >= budget.calls:
            spent = f"{budget.calls} calls"
        elif budget.tokens is not None and (tally.tokens_in + tally.tokens_out) * ahead >= budget.tokens:
            spent = f"{budget.tokens} tokens"
        elif budget.usd is not None:
            if tally.unpriced:
                raise BudgetSpent(
                    "a budget in money needs prices, and there is none for a model of this run: "
                    "add it with --prices FILE"
                )
            if tally.usd * ahead >= budget.usd:
                spent = f"{budget.usd:g} USD"
        if spent is not None:
            raise BudgetSpent(f"the budget of {spent} is used up; raise it and run again to go on")


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
