"""Calls that wait for a wave: the caller, the gate and the budget of a run that is played in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

from ostrom.engine.caller import Caller
from ostrom.engine.gate import RunGate
from ostrom.engine.plan import Budget, Tally, Unit
from ostrom.ground.errors import BudgetSpent, ModelError
from ostrom.ground.words import listed
from ostrom.models.base import Model, Reply, Request, Usage
from ostrom.models.pending_call import PendingCall, Release
from ostrom.models.prices import price_of

MOST = 1 << 30
"""Slots of a gate that never holds a call back: waves do that."""


class WaveQueue(Protocol):
    """What takes calls and sends them in waves (``BatchScheduler``)."""

    def encode(self, model: str, request: Request) -> bytes:
        """The body of a request."""

    def put(self, call: WaveCall) -> None:
        """Take a call into the next wave."""

    def dropped(self, call: WaveCall) -> None:
        """Nobody waits for the reply any more."""

    def journaled(self, key: bytes) -> None:
        """The reply to a call is in the journal."""


class WaveCall(PendingCall):
    """A call that is answered by a batch."""

    __slots__ = ("_reply", "_scheduler", "body", "key", "model", "placed", "request", "times", "unit")

    def __init__(
        self,
        scheduler: WaveQueue,
        unit: int,
        model: str,
        request: Request,
        key: bytes,
        release: Release | None,
    ) -> None:
        super().__init__(release)
        self._scheduler, self.unit, self.model, self.request, self.key = scheduler, unit, model, request, key
        self.body = b""
        self.placed = False
        """Whether its match is counted as waiting for it."""
        self.times = 0
        """How many batches have ended without running it."""
        self._reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    def start(self, era: int = 0) -> None:
        super().start(era)
        try:
            self.body = self._scheduler.encode(self.model, self.request)
        except ModelError as error:
            self.refuse(error)
        else:
            self._scheduler.put(self)

    @property
    def waits(self) -> bool:
        """Whether a reply is still wanted."""
        return not self._reply.done()

    def answer(self, reply: Reply) -> None:
        """The reply is there."""
        if self.waits:
            self.arrived()
            self._reply.set_result(reply)

    def refuse(self, error: Exception) -> None:
        if self.waits:
            self._reply.set_exception(error)

    def drop(self) -> None:
        super().drop()
        self._scheduler.dropped(self)
        if not self._reply.cancel() and not self._reply.cancelled():
            self._reply.exception()  # mark it as retrieved: nothing awaits it

    async def reply(self) -> Reply:
        return await self._reply


class BatchCaller(Caller):
    """Makes calls through batches, at their prices."""

    source = "batch"

    def __init__(self, scheduler: WaveQueue, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._scheduler = scheduler

    async def call(
        self, unit: Unit, step: int, player: int, part: str, model: Model, request: Request
    ) -> Reply:
        """One call; afterwards its batch need not be asked for it again."""
        key = self.key(unit, step, player, part, model, request)
        try:
            return await super().call(unit, step, player, part, model, request)
        finally:
            self._scheduler.journaled(key)

    def _pending(self, unit: Unit, model: Model, request: Request, key: bytes) -> PendingCall:
        release = partial(self.gate.release, model.name)
        return WaveCall(self._scheduler, unit.index, model.name, request, key, release)

    def _price(self, model: str, usage: Usage) -> float | None:
        return price_of(model, usage, self.prices, batch=True)


class BatchGate(RunGate):
    """Counts calls; how many go out at a time and what the budget allows is decided for whole waves."""

    first_alone = False

    def failed(self, model: str, era: int, retry_after: float | None, last: bool = False) -> None:  # noqa: ARG002
        state = self._failed(model)
        state.exhausted = state.exhausted or last

    def models_to_abort(self, tries: int) -> set[str]:  # noqa: ARG002
        """A failed wave is thousands of failures in a row and says no more than one."""
        return {model for model, state in self._models.items() if state.lost}

    def _check_budget(self) -> None:
        """The scheduler holds back what the budget does not cover."""


BYTES_PER_TOKEN = 3.5
TOKENS_OUT = 1000
"""Tokens of a reply where neither earlier replies nor max_tokens say anything."""
ENOUGH = 20
"""After so many calls their mean reply is what the next one is expected to have; before, twice as much."""


class BudgetReservations:
    """Compares what was spent and what is on its way with the budget of the run."""

    def __init__(self, budget: Budget, tally: Tally, prices: Mapping[str, Any] | None) -> None:
        self.budget, self.tally, self.prices = budget, tally, prices
        self._reserved: dict[bytes, tuple[float, float]] = {}
        """By key of the call: tokens and US dollars."""
        self._tokens = self._usd = 0.0
        self._unpriced = False

    def reserve(self, call: WaveCall) -> bool:
        """Whether one more call is covered; if so it is reserved. The first call of a run always is."""
        budget, tally = self.budget, self.tally
        if budget == Budget():
            return True
        tokens, usd = self._expected(call)
        ahead = len(self._reserved)
        first = not ahead and not tally.calls  # without any reply, nothing is known but the longest one
        if budget.calls is not None and tally.calls + ahead >= budget.calls:
            return False
        if budget.tokens is not None:
            spent = tally.tokens_in + tally.tokens_out
            if spent >= budget.tokens or (not first and spent + self._tokens + tokens > budget.tokens):
                return False
        if budget.usd is not None:
            if usd is None or tally.unpriced:
                self._unpriced = True
                return False
            if tally.usd >= budget.usd or (not first and tally.usd + self._usd + usd > budget.usd):
                return False
        self._hold(call, tokens, usd or 0.0)
        return True

    def hold(self, call: WaveCall) -> None:
        """Reserve a call that an earlier session has sent: covered or not, it will be paid for."""
        if self.budget != Budget() and call.key not in self._reserved:
            tokens, usd = self._expected(call)
            self._hold(call, tokens, usd or 0.0)

    def _hold(self, call: WaveCall, tokens: float, usd: float) -> None:
        self._reserved[call.key] = (tokens, usd)
        self._tokens += tokens
        self._usd += usd

    def free(self, call: WaveCall) -> None:
        """A call has come back: what it took is counted elsewhere."""
        tokens, usd = self._reserved.pop(call.key, (0.0, 0.0))
        self._tokens -= tokens
        self._usd -= usd

    def _expected(self, call: WaveCall) -> tuple[float, float | None]:
        tally = self.tally
        tokens_in = len(call.body) / BYTES_PER_TOKEN
        allowed = call.request.params.get("max_tokens")
        out = float(allowed) if type(allowed) is int else float(TOKENS_OUT)
        if tally.tokens_out:
            mean = tally.tokens_out / max(1, tally.calls)
            out = mean if tally.calls >= ENOUGH else min(out, 2 * mean)
        usd = price_of(call.model, Usage(round(tokens_in), round(out)), self.prices, batch=True)
        return tokens_in + out, usd

    def spent(self) -> BudgetSpent:
        """What is said when nothing more is covered."""
        if self._unpriced:
            return BudgetSpent(
                "a budget in money needs prices, and there is none for a model of this run: "
                "add it with --prices FILE"
            )
        budget = self.budget
        parts = [
            f"{value:g} {unit}"
            for value, unit in ((budget.calls, "calls"), (budget.tokens, "tokens"), (budget.usd, "USD"))
            if value is not None
        ]
        return BudgetSpent(
            f"the budget of {listed(parts)} does not cover another call; raise it and run again to go on"
        )
