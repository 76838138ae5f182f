"""Proportional."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._amounts import ByAmount
from ostrom.answers import Number
from ostrom.games.amounts import Value
from ostrom.ground.parameters import Share, checked


class Proportional(ByAmount):
    """Name the same share of what may be named, whatever the others do: of the endowment, the pie or the stock."""

    title: ClassVar[str] = "Proportional"
    citation: ClassVar[str] = "Ledyard (1995)"
    memory_depth = 0

    @checked
    def __init__(self, share: Share = 0.5) -> None:
        self.share = float(share)

    def amount(self, past: Past, form: Number) -> Value | Mapping[Value, float] | None:  # noqa: ARG002
        """The amount nearest to the share."""
        return form.amounts.nearest(form.low + self.share * (form.high - form.low))


STRATEGY = Proportional
