"""Admission of calls: a slot of the model's limiter, the budget, and whether the run is being stopped.

A run has one gate: in this process, or in an actor that all workers of a cluster ask.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Protocol

from ostrom.engine.limits import Limiter, SlotRequest
from ostrom.engine.plan import Budget, Tally
from ostrom.ground.errors import BudgetSpent, ModelGivenUp, OstromError
from ostrom.models.base import Usage

logger = logging.getLogger("ostrom.limits")

BREAKER = 20
"""A model is given up after so many failed calls in a row, each with all its tries."""


ROUNDING = 1e-9


class Stopped(OstromError):
    """The run is being stopped. The unit ends here and continues when the run is resumed."""


class Gate(Protocol):
    """What a caller needs of a gate.

    For every granted slot call ``release`` exactly once and one outcome method exactly once (``succeeded``, ``failed``,
    ``refused``, ``abandoned``), in either order. Call ``failed`` before ``release``: the slot must not be granted
    again before the limit is lowered.
    """

    def request_slot(self, model: str, request: SlotRequest) -> None:
        """Queue a request for a slot: it is started, or refused with Stopped, BudgetSpent or ModelGivenUp."""

    def release(self, model: str) -> None:
        """Free the slot for the next call."""

    def succeeded(self, model: str, usage: Usage, usd: float | None) -> None:
        """The call returned a reply that used so many tokens and cost so much."""

    def failed(self, model: str, era: int, retry_after: float | None, last: bool = False) -> None:
        """The call met a rate limit, a failure or a timeout; ``last``: it is not tried again."""

    def refused(self, model: str, for_good: bool = False) -> None:
        """The server declined the call; ``for_good``: it will decline every other call too."""

    def abandoned(self, model: str) -> None:
        """The call was cancelled on our side. It is not counted."""


@dataclass(slots=True)
class _ModelState:
    limiter: Limiter
    successes: int = 0
    failures_in_a_row: int = 0
    exhausted: bool = False
    """Whether some call to it ended without a reply."""
    closed: ModelGivenUp | None = None
    """Set when no more calls are made to this model."""
    useless: bool = False
    """Whether the server rejects every call: a wrong key, an empty account."""
    held_back: int = 0
    """Calls in flight that are allowed once the first reply has shown what a call takes."""


class RunGate:
    """The gate of a run: one limiter per model, one budget for all."""

    first_alone = True
    """Whether a budget in tokens or money makes the first call of a run go alone, as its price is not known yet."""

    def __init__(self, tally: Tally, budget: Budget, stopping: asyncio.Event) -> None:
        self.tally, self.budget, self.stopping = tally, budget, stopping
        self.reserved = 0
        self._models: dict[str, _ModelState] = {}

    def open(self, model: str, start: int, most: int) -> None:
        """Register a model with its first and largest number of calls in flight."""
        bound = self.budget.tokens is not None or self.budget.usd is not None
        held = min(start, most) if self.first_alone and bound and not self.tally.calls else 0
        self._models[model] = _ModelState(Limiter(1 if held else start, most, self._admit), held_back=held)

    @property
    def most(self) -> int:
        """The most calls in flight to all models together."""
        return sum(state.limiter.most for state in self._models.values())

    @property
    def places(self) -> int:
        """The calls that may be in flight to all models together at present."""
        return sum(int(state.limiter.limit) for state in self._models.values())

    def request_slot(self, model: str, request: SlotRequest) -> None:
        state = self._models[model]
        if state.closed is not None:
            request.refuse(state.closed)
        else:
            state.limiter.request_slot(request)

    def try_acquire(self, model: str) -> int | None:
        """Take a slot if one is free now, else None; raises Stopped or BudgetSpent."""
        state = self._models[model]
        return None if state.closed is not None else state.limiter.try_acquire()

    def _admit(self) -> None:
        if self.stopping.is_set():
            raise Stopped("stopped")
        self._check_budget()
        self.reserved += 1
        self.tally.in_flight += 1

    def stop(self) -> None:
        """Grant no more slots and refuse all queued requests."""
        self.stopping.set()
        for state in self._models.values():
            state.limiter.refuse_all(Stopped("stopped"))

    def release(self, model: str) -> None:
        self.tally.in_flight -= 1
        self._models[model].limiter.release()

    def succeeded(self, model: str, usage: Usage, usd: float | None) -> None:
        self.reserved -= 1
        state = self._models[model]
        state.successes += 1
        state.failures_in_a_row = 0
        tally = self.tally
        tally.calls += 1
        tally.tokens_in += usage.input or 0
        tally.tokens_out += usage.output or 0
        tally.tokens_cached += usage.cached or 0
        if usd is None:
            tally.unpriced += 1
        else:
            tally.usd += usd
        state.limiter.limit = max(state.limiter.limit, float(state.held_back))
        state.held_back = 0
        state.limiter.succeeded()

    def failed(self, model: str, era: int, retry_after: float | None, last: bool = False) -> None:
        state = self._failed(model)
        state.exhausted = state.exhausted or last
        before = state.limiter.limit
        state.limiter.failed(era, retry_after)
        if state.limiter.limit < before:
            logger.info("%s: at most %d calls in flight now, %d before", model, state.limiter.limit, before)
        if retry_after is not None:
            logger.info("%s: the server asks to wait %.1f s", model, retry_after)
            self.tally.wait_until = max(self.tally.wait_until, time.monotonic() + retry_after)

    def refused(self, model: str, for_good: bool = False) -> None:
        state = self._failed(model)
        state.exhausted = True
        state.useless = state.useless or for_good

    def abandoned(self, model: str) -> None:  # noqa: ARG002
        self.reserved -= 1

    def models_to_abort(self, tries: int) -> set[str]:
        """The models to which further calls would be wasted."""
        return {
            model
            for model, state in self._models.items()
            if state.closed is not None
            or state.useless
            or (state.exhausted and not state.successes)
            or state.failures_in_a_row >= BREAKER * tries
        }

    def give_up(self, model: str, why: str) -> None:
        """Make no more calls to a model; calls in flight are awaited."""
        state = self._models[model]
        if state.closed is None:
            logger.warning("%s: no more calls: %s", model, why)
            state.closed = ModelGivenUp(why)
            state.limiter.refuse_all(state.closed)

    def _failed(self, model: str) -> _ModelState:
        self.reserved -= 1
        state = self._models[model]
        state.failures_in_a_row += 1
        state.held_back //= 2
        self.tally.calls += 1
        return state

    def _check_budget(self) -> None:
        """Refuse a call that the budget does not cover; it and those in flight count as the mean of those made."""
        budget, tally = self.budget, self.tally
        spent: str | None = None
        share = (self.reserved + 1) / tally.calls if tally.calls else 0.0

        def uncovered(used: float, limit: float) -> bool:
            return used >= limit or used * (1 + share) > limit * (1 + ROUNDING)

        if budget.calls is not None and tally.calls + self.reserved >= budget.calls:
            spent = f"{budget.calls} calls"
        elif budget.tokens is not None and uncovered(tally.tokens_in + tally.tokens_out, budget.tokens):
            spent = f"{budget.tokens} tokens"
        elif budget.usd is not None:
            if tally.unpriced:
                raise BudgetSpent(
                    "a budget in money needs prices, and there is none for a model of this run: "
                    "add it with --prices FILE"
                )
            if uncovered(tally.usd, budget.usd):
                spent = f"{budget.usd:g} USD"
        if spent is not None:
            raise BudgetSpent(f"the budget of {spent} is used up; raise it and run again to go on")
