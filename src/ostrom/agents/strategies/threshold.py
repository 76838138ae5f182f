"""Threshold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._amounts import ByAmount, last_amount
from ostrom.answers import Choice, Form, Number
from ostrom.games.amounts import Value
from ostrom.ground.errors import StudyError
from ostrom.ground.parameters import Number as Finite
from ostrom.ground.parameters import checked


class Threshold(ByAmount):
    """Take the first option (accept) if the amount just named is at least ``least``, else the second one.

    Where it names an amount itself, it names ``names``, by default ``least`` too.
    """

    title: ClassVar[str] = "Threshold"
    citation: ClassVar[str] = "Güth, Schmittberger and Schwarze (1982)"
    memory_depth = 0

    @checked
    def __init__(self, least: Finite = 0, names: Finite | None = None) -> None:
        self.least, self.names = least, least if names is None else names

    def amount(self, past: Past, form: Number) -> Value | Mapping[Value, float] | None:  # noqa: ARG002
        """The amount that it names."""
        return form.amounts.nearest(self.names)

    def choose(self, past: Past, form: Form) -> Value | Mapping[Value, float] | None:
        """The first option from the threshold on."""
        if not isinstance(form, Choice):
            return super().choose(past, form)
        offered = last_amount(past)
        if offered is None or len(form.options) != 2:
            raise StudyError(
                f"strategy {self.name} answers an amount by one of two options; game {past.game.name} asks otherwise"
            )
        return form.options[0] if offered >= self.least else form.options[1]


STRATEGY = Threshold
