"""Conditional cooperator."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._amounts import ByAmount, named_by_others
from ostrom.answers import Number
from ostrom.games.amounts import Value
from ostrom.ground.parameters import Amount, Share, checked


class ConditionalCooperator(ByAmount):
    """Name the others' mean of the last round times ``slope``; at first a share ``first`` of the most allowed."""

    title: ClassVar[str] = "Conditional Cooperator"
    citation: ClassVar[str] = "Fischbacher, Gächter and Fehr (2001)"
    memory_depth = 1

    @checked
    def __init__(self, slope: Amount = 1.0, first: Share = 0.5) -> None:
        self.slope, self.first = float(slope), float(first)

    def amount(self, past: Past, form: Number) -> Value | Mapping[Value, float] | None:
        """The others' mean, as far as it can be given here."""
        seen = named_by_others(past)
        if not seen:
            return form.amounts.nearest(form.low + self.first * (form.high - form.low))
        return form.amounts.nearest(self.slope * fsum(seen) / len(seen))


STRATEGY = ConditionalCooperator
