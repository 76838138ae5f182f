"""What a run may spend: calls under way are reserved at what they may take at most, and counted when they end.

A server may report no tokens, or numbers that cannot be. Such calls are counted by an upper estimate: the highest
tokens per byte that were reported in this run, or one token per byte before any were.
"""

import logging
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from ostrom.engine.journal import Journal
from ostrom.engine.plan import Budget, Tally
from ostrom.ground.errors import BudgetSpent
from ostrom.models.base import Constraint, Usage
from ostrom.models.http1 import longest_reply
from ostrom.models.pending_call import CallSize
from ostrom.models.prices import price_of

logger = logging.getLogger("ostrom.limits")

ROUNDING = 1e-9
BYTES_PER_TOKEN = 100
"""No text has fewer tokens than one for so many bytes; a report of fewer is not believed."""
UNCLEAR = ("TimedOut", "ConnectionFailed", "MalformedReply", "Abandoned")
"""Failures after which a server may have made, and billed, a reply."""
REFUSED_UNTRIED = (501, 503, 529)
"""Failures of a server by which it says that it did not begin: it is overloaded, or cannot do this at all."""


def believed(usage: Usage, prompt: int, written: int) -> Usage:
    """What a server reports, without counts that are too small for so many bytes.

    >>> believed(Usage(input=0, output=7), 400, 30)
    Usage(input=None, output=7, cached=None, reasoning=None, kept=None)
    """
    few_in = usage.input is not None and usage.input * BYTES_PER_TOKEN < prompt
    few_out = usage.output is not None and usage.output * BYTES_PER_TOKEN < written
    if not few_in and not few_out:
        return usage
    return replace(usage, input=None if few_in else usage.input, output=None if few_out else usage.output)


def may_be_billed(error: str, status: int | None) -> bool:
    """Whether a try that failed may be on the bill, by its error as the journal has it.

    >>> may_be_billed("TimedOut: no reply", None), may_be_billed("ConnectionFailed: cannot reach it", None)
    (True, False)
    >>> may_be_billed("RateLimited: slow down", 429), may_be_billed("ServerFailed: too slow", 504)
    (False, True)
    """
    # A server, or a proxy before it, can break after the model has written: 500 and 502 say nothing about the bill.
    if status is not None:
        return status < 300 or status == 408 or (status >= 500 and status not in REFUSED_UNTRIED)
    kind, _, said = error.partition(": ")
    return kind in UNCLEAR and not said.startswith("cannot reach ")


def schema_bytes(constraint: Constraint | None) -> int:
    """The bytes of a schema, which servers add to the prompt."""
    return 0 if constraint is None or constraint.schema is None else len(orjson.dumps(constraint.schema))


class Spending:
    """Compares what was spent and what is under way with the budget of a run."""

    def __init__(
        self, tally: Tally, budget: Budget, prices: Mapping[str, Any] | None = None, *, batch: bool = False
    ) -> None:
        self.tally, self.budget, self.prices, self.batch = tally, budget, prices, batch
        self.reserved = 0
        """Calls under way."""
        self._tokens, self._usd = 0, 0.0
        self._per_byte_in = self._per_byte_out = 0.0
        """The highest reported tokens per byte; 0 before the first report."""
        self._beyond = 1.0
        """The highest ratio of what a call took to what it was expected to take at most."""

    def reserve(self, model: str, size: CallSize) -> bool:
        """Reserve a call; False: it may fit when calls under way have ended. BudgetSpent: it does not."""
        budget, tally = self.budget, self.tally
        if budget.calls is not None and tally.calls + self.reserved >= budget.calls:
            raise BudgetSpent(
                f"the budget of {budget.calls} calls is used up: it does not cover another call; "
                "raise it and run again to go on"
            )
        tokens, usd = size.prompt + size.most, self._most_usd(model, size)
        fits = True
        if budget.tokens is not None:
            spent = tally.tokens_in + tally.tokens_out + tally.assumed_tokens
            fits = self._fits(
                size, f"{budget.tokens} tokens", "{:,.0f}", spent, tokens, self._tokens, budget.tokens
            )
        if budget.usd is not None:
            spent_usd = tally.usd + tally.assumed_usd
            fits &= self._fits(size, f"{budget.usd:g} USD", "{:.4g}", spent_usd, usd, self._usd, budget.usd)
        if fits:
            self._add(1, tokens, usd)
        return fits

    def _fits(
        self,
        size: CallSize,
        limit: str,
        figure: str,
        spent: float,
        most: float,
        reserved: float,
        bound: float,
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

    def hold(self, model: str, size: CallSize) -> None:
        """Reserve a call that an earlier session has sent: covered or not, it will be paid for."""
        self._add(1, size.prompt + size.most, self._most_usd(model, size))

    def free(self, model: str, size: CallSize) -> None:
        """A call is no longer under way; what it took is counted apart."""
        self._add(-1, -size.prompt - size.most, -self._most_usd(model, size))

    def _add(self, calls: int, tokens: int, usd: float) -> None:
        self.reserved += calls
        self._tokens += tokens
        self._usd = self._usd + usd if self.reserved else 0.0

    def _most_usd(self, model: str, size: CallSize) -> float:
        """The highest price of a call: its prompt may be written into a cache, which some servers charge more for."""
        if self.budget.usd is None:
            return 0.0
        prices = [
            self._price(model, Usage(size.prompt, size.most, kept=kept)) for kept in (None, size.prompt)
        ]
        if None in prices:
            raise BudgetSpent(
                "a budget in money needs prices, and there is none for a model of this run: "
                "add it with --prices FILE"
            )
        return max(usd for usd in prices if usd is not None)

    def _price(self, model: str, usage: Usage) -> float | None:
        return price_of(model, usage, self.prices, batch=self.batch)

    def count(
        self, model: str, size: CallSize, usage: Usage, usd: float | None, written: int, cut: bool = False
    ) -> None:
        """Count a reply of so many bytes; what its server did not report is estimated.

        ``cut``: it has as many tokens as were allowed.
        """
        self.tally.count_reply(usage, usd)
        self._estimate(model, size, usage, usd, written, cut)

    def _estimate(
        self, model: str, size: CallSize, usage: Usage, usd: float | None, written: int, cut: bool
    ) -> None:
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

    def count_unclear(self, model: str, size: CallSize) -> None:
        """Count a call without a reply that may have been billed, at what it may have taken at most."""
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

    def recall(self, journal: Journal) -> None:
        """Estimate what earlier sessions spent without a report; what was reported is in the tally already."""
        if self.budget.tokens is None and self.budget.usd is None:
            return
        for row in journal.unreported():
            params, error = row.params, row.error
            schema = (params.get("constraint") or {}).get("schema")
            prompt = row.prompt + (0 if schema is None else len(orjson.dumps(schema)))
            size = CallSize(prompt, longest_reply(params))
            if error is None:
                self._estimate(row.model, size, row.usage, row.usd, row.written, row.cut)
            elif may_be_billed(error, row.status):
                self.count_unclear(row.model, size)
