"""Admission of calls: the model's limiter, the budget, and the stop of a run.

A run has one gate: in this process, or in an actor that all workers of a cluster ask. How many calls may be in flight
is adapted by one limiter per model: additive increase, multiplicative decrease.
A call in flight reserves the most that it may use of the budget; its actual use is counted when it ends.

A server may report no tokens, or numbers that cannot be. Such calls are counted by an upper estimate: the highest
tokens per byte that were reported in this run, or one token per byte before any were.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any, Protocol

import orjson

from ostrom.engine.journal import Journal
from ostrom.engine.plan import Budget, Tally
from ostrom.ground.errors import BudgetSpent, ModelGivenUp, OstromError
from ostrom.models.base import Constraint, Usage
from ostrom.models.http1 import longest_reply
from ostrom.models.pending_call import NO_SIZE, CallSize, PendingCall
from ostrom.models.prices import price_of

logger = logging.getLogger("ostrom.limits")

ROUNDING = 1e-9
BYTES_PER_TOKEN = 100
"""The most bytes per token of any text; a report of fewer tokens is not trusted."""
UNCLEAR = ("TimedOut", "ConnectionFailed", "MalformedReply", "Abandoned")
"""Errors after which a server may have produced and billed a reply."""
OVERLOADED = (503, 529)
"""Statuses of a server that takes no calls now: it is starting, or overloaded."""
REFUSED_UNTRIED = (501, *OVERLOADED)
"""Statuses of a server that did not start the call: overloaded, or unable to do it."""


def plausible_usage(usage: Usage, prompt: int, written: int) -> Usage:
    """Return the reported usage without counts that are too small for the number of bytes.

    >>> plausible_usage(Usage(input=0, output=7), 400, 30)
    Usage(input=None, output=7, cached=None, reasoning=None, kept=None)
    """
    few_in = usage.input is not None and usage.input * BYTES_PER_TOKEN < prompt
    few_out = usage.output is not None and usage.output * BYTES_PER_TOKEN < written
    if not few_in and not few_out:
        return usage
    return replace(usage, input=None if few_in else usage.input, output=None if few_out else usage.output)


def may_be_billed(error: str, status: int | None) -> bool:
    """Return whether a failed try may be billed, by its journaled error.

    >>> may_be_billed("TimedOut: no reply", None), may_be_billed("ConnectionFailed: cannot reach it", None)
    (True, False)
    >>> may_be_billed("RateLimited: slow down", 429), may_be_billed("ServerFailed: too slow", 504)
    (False, True)
    """
    # A server or proxy can fail after the model has replied: 500 and 502 say nothing about the bill.
    if status is not None:
        return status < 300 or status == 408 or (status >= 500 and status not in REFUSED_UNTRIED)
    kind, _, message = error.partition(": ")
    return kind in UNCLEAR and not message.startswith("cannot reach ")


def is_out_of_reach(error: str, status: int | None) -> bool:
    """Return whether a try failed because no server took it, by its journaled error.

    >>> is_out_of_reach("ConnectionFailed: cannot reach it", None), is_out_of_reach("ServerFailed: loading", 503)
    (True, True)
    >>> is_out_of_reach("ConnectionFailed: it hung up", None), is_out_of_reach("ServerFailed: unable", 501)
    (False, False)
    """
    return status in OVERLOADED or error.startswith("ConnectionFailed: cannot reach ")


def schema_bytes(constraint: Constraint | None) -> int:
    """Return the size of a schema in bytes, which servers add to the prompt."""
    return 0 if constraint is None or constraint.schema is None else len(orjson.dumps(constraint.schema))


class Spending:
    """Compares money and tokens, spent and reserved, with the budget of a run."""

    def __init__(
        self, tally: Tally, budget: Budget, prices: Mapping[str, Any] | None = None, *, batch: bool = False
    ) -> None:
        self.tally, self.budget, self.prices, self.batch = tally, budget, prices, batch
        self.may_delay = budget.tokens is not None or budget.usd is not None
        """Whether a call may have to wait for the reservations of others."""
        self.reserved = 0
        """The number of calls in flight."""
        self._tokens, self._usd = 0, 0.0
        self._per_byte_in = self._per_byte_out = 0.0
        """The highest reported tokens per byte; 0 before the first report."""
        self._beyond = 1.0
        """The highest ratio of a call's actual tokens to its reserved ones, at least 1."""

    def reserve(self, model: str, size: CallSize) -> bool:
        """Reserve a call; False if it may fit after calls in flight end. Raises BudgetSpent if it never fits."""
        budget, tally = self.budget, self.tally
        if budget.calls is not None and tally.calls + self.reserved >= budget.calls:
            raise BudgetSpent(
                f"the budget of {budget.calls} calls is used up: it does not cover another call; "
                "raise it and run again to go on"
            )
        if not self.may_delay:
            self.reserved += 1
            return True
        tokens, usd = size.prompt + size.most, self._most_usd(model, size)
        fits = True
        if budget.tokens is not None:
            spent = tally.tokens_in + tally.tokens_out + tally.assumed_tokens
            fits = self._fits(size, f"{budget.tokens} tokens", "{:,.0f}", spent, tokens, self._tokens, budget.tokens)
        if budget.usd is not None:
            spent_usd = tally.usd + tally.assumed_usd
            fits &= self._fits(size, f"{budget.usd:g} USD", "{:.4g}", spent_usd, usd, self._usd, budget.usd)
        if fits:
            self._add(1, tokens, usd)
        return fits

    def _fits(
        self, size: CallSize, limit: str, figure: str, spent: float, most: float, reserved: float, bound: float
    ) -> bool:
        most, spare = most * self._beyond, bound * ROUNDING
        if spent < bound and spent + most <= bound + spare:
            return spent + reserved * self._beyond + most <= bound + spare
        guessed = f", with an upper estimate for {self.tally.assumed} calls" if self.tally.assumed else ""
        raise BudgetSpent(
            f"the budget of {limit} is used up: it does not cover another call ({figure.format(spent)} spent{guessed}; "
            f"one call may take {figure.format(most)}: {size.prompt:,} bytes of prompt and a reply of at most "
            f"{size.most:,} tokens); raise it and run again to go on"
        )

    def reserve_sent(self, model: str, size: CallSize) -> None:
        """Reserve a call that an earlier session sent: it is billed whether the budget covers it or not."""
        if not self.may_delay:
            self.reserved += 1
            return
        self._add(1, size.prompt + size.most, self._most_usd(model, size))

    def free(self, model: str, size: CallSize) -> None:
        """Release a reservation; actual use is counted separately."""
        if not self.may_delay:
            self.reserved -= 1
            return
        self._add(-1, -size.prompt - size.most, -self._most_usd(model, size))

    def _add(self, calls: int, tokens: int, usd: float) -> None:
        self.reserved += calls
        self._tokens += tokens
        self._usd = self._usd + usd if self.reserved else 0.0

    def _most_usd(self, model: str, size: CallSize) -> float:
        """Return the highest price of a call, including the surcharge for writing its prompt to a cache."""
        if self.budget.usd is None:
            return 0.0
        prices = [self._price(model, Usage(size.prompt, size.most, kept=cached)) for cached in (None, size.prompt)]
        if None in prices:
            raise BudgetSpent(
                "a budget in money needs prices, and there is none for a model of this run: add it with --prices FILE"
            )
        return max(usd for usd in prices if usd is not None)

    def _price(self, model: str, usage: Usage) -> float | None:
        return price_of(model, usage, self.prices, batch=self.batch)

    def count(
        self, model: str, size: CallSize, usage: Usage, usd: float | None, written: int, cut: bool = False
    ) -> None:
        """Count a reply of ``written`` bytes; use that the server did not report is estimated.

        ``cut``: the reply was truncated at the largest number of tokens.
        """
        self.tally.count_reply(usage, usd)
        self._estimate(model, size, usage, usd, written, cut)

    def _estimate(self, model: str, size: CallSize, usage: Usage, usd: float | None, written: int, cut: bool) -> None:
        tokens_in, tokens_out = usage.input, usage.output
        if tokens_in is None:
            tokens_in = self._prompt_tokens(size)
        elif size.prompt:
            self._per_byte_in = max(self._per_byte_in, tokens_in / size.prompt)
        if tokens_out is None:
            tokens_out = math.ceil(written * (self._per_byte_out or 1.0))
            tokens_out = max(tokens_out, size.most) if cut else min(tokens_out, max(size.most, written))
        elif written:
            self._per_byte_out = max(self._per_byte_out, tokens_out / written)
        missing = tokens_in + tokens_out - (usage.input or 0) - (usage.output or 0)
        if not missing:
            self._beyond = max(self._beyond, (tokens_in + tokens_out) / max(1, size.prompt + size.most))
        unpriced = usd is None and self.budget.usd is not None
        if missing or unpriced:
            full = replace(usage, input=tokens_in, output=tokens_out)
            self._assume(model, missing, (self._price(model, full) or 0.0) if unpriced else 0.0)

    def _prompt_tokens(self, size: CallSize) -> int:
        return math.ceil(size.prompt * (self._per_byte_in or 1.0))

    def count_possibly_billed(self, model: str, size: CallSize) -> None:
        """Count a call without a reply that may have been billed, at its maximum."""
        self._assume(model, self._prompt_tokens(size) + size.most, self._most_usd(model, size))

    def _assume(self, model: str, tokens: int, usd: float) -> None:
        tally = self.tally
        if not tally.assumed:
            logger.warning(
                "%s: a call without a believable report of its tokens; such calls are counted by an upper estimate",
                model,
            )
        tally.assumed += 1
        tally.assumed_tokens += tokens
        tally.assumed_usd += usd

    def recount_from_journal(self, journal: Journal) -> None:
        """Estimate unreported spending of earlier sessions; reported spending is in the tally already."""
        if self.budget.tokens is None and self.budget.usd is None:
            return
        for model, params, prompt, usage, usd, written, cut, error, status in journal.unreported():
            schema = (params.get("constraint") or {}).get("schema")
            size = CallSize(prompt + (0 if schema is None else len(orjson.dumps(schema))), longest_reply(params))
            if error is None:
                self._estimate(model, size, usage, usd, written, cut)
            elif may_be_billed(error, status):
                self.count_possibly_billed(model, size)


NO_LOAD = -1
"""In place of an era: a failure that says nothing about load."""


class Limiter:
    """Grants call slots to the lowest ranks and adapts their number to the server.

    The rank of a call is the number of its match, so that a run that is cut off has finished its first seeds.

    Every success raises the limit by 1/limit, up to ``most``; a failure halves it, at most once for all calls that
    were in flight when the first of them failed (one era). Retry-After pauses all calls to this model. ``admit`` is
    called before each slot is granted; it raises an OstromError when no more calls may start, and gives False when this
    one has to wait until ``grant_free_slots`` is called.
    """

    def __init__(self, start: int, most: int, admit: Callable[[CallSize], bool]) -> None:
        self.limit = float(max(1, min(start, most)))
        self.most = max(1, most)
        self.in_flight = 0
        self._admit = admit
        self._waiting: list[tuple[int, int, PendingCall]] = []
        """A heap: rank, order of request, request."""
        self._requests = count()
        self._era = 0
        self._pause_until = 0.0
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = 0.0

    def request_slot(self, request: PendingCall) -> None:
        """Queue a request. It is granted now if a slot is free, else when ``release`` frees one."""
        heappush(self._waiting, (request.rank, next(self._requests), request))
        self.grant_free_slots()

    def try_acquire(self, size: CallSize = NO_SIZE) -> int | None:
        """Take a slot if one is free; return its era, else None."""
        if self._waiting or self.in_flight >= int(self.limit) or self._is_paused() or not self._admit(size):
            return None
        self.in_flight += 1
        return self._era

    def succeeded(self) -> None:
        """Record a success; the slot may have been released before."""
        before = int(self.limit)
        self.limit = min(float(self.most), self.limit + 1.0 / self.limit)
        if int(self.limit) > before:
            self.grant_free_slots()

    def failed(self, era: int, retry_after: float | None = None) -> None:
        """Record a rate limit, a failure or a timeout. Call this before ``release``; ``era`` may be NO_LOAD."""
        if era == self._era:
            self._era += 1
            self.limit = max(1.0, self.limit / 2)
        if retry_after is not None:
            self._pause_until = max(self._pause_until, asyncio.get_running_loop().time() + retry_after)

    def refuse_all(self, error: OstromError) -> None:
        """Refuse all queued requests."""
        while self._waiting:
            *_, request = heappop(self._waiting)
            if not request.dropped:
                request.refuse(error)

    def release(self) -> None:
        """Free one slot."""
        self.in_flight -= 1
        self.grant_free_slots()

    def grant_free_slots(self) -> None:
        """Grant free slots to queued requests."""
        waiting = self._waiting
        while waiting and self.in_flight < int(self.limit) and not (self._pause_until and self._is_paused()):
            *_, request = waiting[0]
            try:
                if not request.dropped and not self._admit(request.size):
                    return
            except OstromError as error:
                heappop(waiting)
                request.refuse(error)
                continue
            heappop(waiting)
            if not request.dropped:
                self.in_flight += 1
                request.start(self._era)

    def _is_paused(self) -> bool:
        """Whether Retry-After pauses this model; if so, a timer resumes it."""
        if not self._pause_until:
            return False
        loop = asyncio.get_running_loop()
        if self._pause_until <= loop.time():
            self._pause_until = 0.0
            return False
        if self._alarm is None or self._alarm_at < self._pause_until:
            if self._alarm is not None:
                self._alarm.cancel()
            # Stored here, because not every event loop's timer handle has when().
            self._alarm_at = self._pause_until
            self._alarm = loop.call_at(self._alarm_at, self._end_pause)
        return True

    def _end_pause(self) -> None:
        self._alarm = None
        self.grant_free_slots()


BREAKER = 20
"""The number of consecutive failed calls, each with all its tries, after which a model is given up."""


class Stopped(OstromError):
    """Raised when the run is being stopped; the unit continues when the run is resumed."""


class Gate(Protocol):
    """The gate as a caller needs it.

    For every granted slot call ``release`` exactly once and one outcome method exactly once (``succeeded``, ``failed``,
    ``refused``, ``abandoned``), in either order. Call ``failed`` before ``release``: the slot must not be granted
    again before the limit is lowered. ``size`` is the size of the request; ``billed``: the call got no reply, but may
    be on the bill.
    """

    def request_slot(self, model: str, request: PendingCall) -> None:
        """Queue a request for a slot; it is started, or refused with Stopped, BudgetSpent or ModelGivenUp."""

    def release(self, model: str) -> None:
        """Free the slot for the next call."""

    def succeeded(
        self, model: str, usage: Usage, usd: float | None, size: CallSize = NO_SIZE, written: int = 0, cut: bool = False
    ) -> None:
        """Record a reply with its tokens, price and length in bytes; ``cut`` if it was truncated."""

    def failed(
        self,
        model: str,
        era: int,
        retry_after: float | None,
        last: bool = False,
        size: CallSize = NO_SIZE,
        billed: bool = False,
    ) -> None:
        """Record a rate limit, a failure or a timeout; ``last`` if it is not retried."""

    def refused(self, model: str, for_good: bool = False, size: CallSize = NO_SIZE, billed: bool = False) -> None:
        """Record a refusal by the server; ``for_good`` if it will refuse every other call too."""

    def abandoned(self, model: str, size: CallSize = NO_SIZE, billed: bool = False) -> None:
        """Record a call cancelled by this process; it is counted only if it may be billed."""


@dataclass(slots=True)
class _ModelState:
    limiter: Limiter
    successes: int = 0
    failures_in_a_row: int = 0
    exhausted: bool = False
    """Whether some call to the model ended without a reply."""
    closed: ModelGivenUp | None = None
    """The error for further calls, once the model is given up."""
    useless: bool = False
    """Whether the server rejects every call, as with a wrong key or an empty account."""

    @property
    def lost(self) -> bool:
        """Return whether the model is unusable."""
        return self.closed is not None or self.useless or (self.exhausted and not self.successes)


class RunGate:
    """The gate of a run: one limiter per model, one budget for all."""

    batch = False
    """Whether calls are made in batches, at the prices of batches."""

    def __init__(
        self, tally: Tally, budget: Budget, stopping: asyncio.Event, prices: Mapping[str, Any] | None = None
    ) -> None:
        self.tally, self.stopping = tally, stopping
        self.spending = Spending(tally, budget, prices, batch=self.batch)
        self._models: dict[str, _ModelState] = {}

    def open(self, model: str, start: int, most: int) -> None:
        """Register a model with its first and largest number of calls in flight."""
        self._models[model] = _ModelState(Limiter(start, most, partial(self._admit, model)))

    @property
    def most(self) -> int:
        """Return the most calls in flight to all models together."""
        return sum(state.limiter.most for state in self._models.values())

    @property
    def places(self) -> int:
        """Return how many calls may be in flight now, to all models together."""
        return sum(int(state.limiter.limit) for state in self._models.values())

    def request_slot(self, model: str, request: PendingCall) -> None:
        state = self._models[model]
        if state.closed is not None:
            request.refuse(state.closed)
        else:
            state.limiter.request_slot(request)

    def try_acquire(self, model: str, size: CallSize = NO_SIZE) -> int | None:
        """Take a slot if one is free now and return its era, else None; raises Stopped or BudgetSpent."""
        state = self._models[model]
        return None if state.closed is not None else state.limiter.try_acquire(size)

    def _admit(self, model: str, size: CallSize) -> bool:
        if self.stopping.is_set():
            raise Stopped("stopped")
        if not self.spending.reserve(model, size):
            return False
        self.tally.in_flight += 1
        return True

    def _settled(self, model: str, size: CallSize, billed: bool) -> None:
        """Count a call without a reply if it may be billed, and admit calls that waited for its reservation."""
        if billed:
            self.spending.count_possibly_billed(model, size)
        self._free(model, size)

    def _free(self, model: str, size: CallSize) -> None:
        self.spending.free(model, size)
        if self.spending.may_delay:
            for state in self._models.values():
                state.limiter.grant_free_slots()

    def stop(self) -> None:
        """Grant no more slots and refuse all queued requests."""
        self.stopping.set()
        for state in self._models.values():
            state.limiter.refuse_all(Stopped("stopped"))

    def release(self, model: str) -> None:
        self.tally.in_flight -= 1
        self._models[model].limiter.release()

    def succeeded(
        self, model: str, usage: Usage, usd: float | None, size: CallSize = NO_SIZE, written: int = 0, cut: bool = False
    ) -> None:
        state = self._models[model]
        state.successes += 1
        state.failures_in_a_row = 0
        self.tally.calls += 1
        self.spending.count(model, size, usage, usd, written, cut)
        self._free(model, size)
        state.limiter.succeeded()

    def failed(
        self,
        model: str,
        era: int,
        retry_after: float | None,
        last: bool = False,
        size: CallSize = NO_SIZE,
        billed: bool = False,
    ) -> None:
        state = self._failed(model)
        state.exhausted = state.exhausted or last
        before = state.limiter.limit
        state.limiter.failed(era, retry_after)
        if state.limiter.limit < before:
            logger.info("%s: at most %d calls in flight now, %d before", model, state.limiter.limit, before)
        if retry_after is not None:
            logger.info("%s: the server asks to wait %.1f s", model, retry_after)
            self.tally.wait_until = max(self.tally.wait_until, time.monotonic() + retry_after)
        self._settled(model, size, billed)

    def refused(self, model: str, for_good: bool = False, size: CallSize = NO_SIZE, billed: bool = False) -> None:
        state = self._failed(model)
        state.exhausted = True
        state.useless = state.useless or for_good
        self._settled(model, size, billed)

    def abandoned(self, model: str, size: CallSize = NO_SIZE, billed: bool = False) -> None:
        self.tally.calls += billed
        self._settled(model, size, billed)

    def models_to_abort(self, tries: int) -> set[str]:
        """The models to which further calls would be wasted."""
        return {
            model for model, state in self._models.items() if state.lost or state.failures_in_a_row >= BREAKER * tries
        }

    def give_up(self, model: str, why: str) -> None:
        """Make no more calls to a model; calls in flight are awaited."""
        state = self._models[model]
        if state.closed is None:
            logger.warning("%s: no more calls: %s", model, why)
            state.closed = ModelGivenUp(why)
            state.limiter.refuse_all(state.closed)

    def _failed(self, model: str) -> _ModelState:
        state = self._models[model]
        state.failures_in_a_row += 1
        self.tally.calls += 1
        return state
