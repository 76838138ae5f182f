"""Conditional cooperator."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum, isfinite
from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._amounts import ByAmount, named_by_others
from ostrom.agents.strategies._dilemma import chance
from ostrom.answers import Number
from ostrom.games.amounts import Value


class ConditionalCooperator(ByAmount):
    """Name the others' mean of the last round times ``slope``; at first a share ``first`` of the most allowed."""

    title: ClassVar[str] = "Conditional Cooperator"
    citation: ClassVar[str] = "Fischbacher, Gächter and Fehr (2001)"
    memory_depth = 1

    def __init__(self, slope: float = 1.0, first: float = 0.5) -> None:
        if isinstance(slope, bool) or not isinstance(slope, int | float) or not isfinite(slope) or slope < 0:
            raise ValueError(f"slope must be a number of at least 0, found {slope!r}")
        self.slope, self.first = float(slope), chance("first", first)

    def amount(self, past: Past, form: Number) -> Value | Mapping[Value, float] | None:
        """The others' mean, as far as it can be given here."""
        seen = named_by_others(past)
        if not seen:
            return form.amounts.nearest(form.low + self.first * (form.high - form.low))
        return form.amounts.nearest(self.slope * fsum(seen) / len(seen))


STRATEGY = ConditionalCooperator
