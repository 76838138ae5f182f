"""Proportional."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._amounts import ByAmount
from ostrom.agents.strategies._dilemma import chance
from ostrom.answers import Number
from ostrom.games.amounts import Value


class Proportional(ByAmount):
    """Name the same share of what may be named, whatever the others do: of the endowment, the pie or the stock."""

    title: ClassVar[str] = "Proportional"
    citation: ClassVar[str] = "Ledyard (1995)"
    memory_depth = 0

    def __init__(self, share: float = 0.5) -> None:
        self.share = chance("share", share)

    def amount(self, past: Past, form: Number) -> Value | Mapping[Value, float] | None:  # noqa: ARG002
        """The amount nearest to the share."""
        return form.amounts.nearest(form.low + self.share * (form.high - form.low))


STRATEGY = Proportional
