"""What waves may spend: each call is reserved at what it is expected to take before it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ostrom.engine.batching.calls import WaveCall
from ostrom.engine.plan import Budget, Tally
from ostrom.ground.errors import BudgetSpent
from ostrom.models.base import Usage
from ostrom.models.prices import price_of

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
            f"the budget of {' and '.join(parts)} does not cover another call; raise it and run again to go on"
        )
