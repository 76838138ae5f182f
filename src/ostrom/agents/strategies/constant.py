"""Constant."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._actions import action_index
from ostrom.agents.strategies._by_action import ByAction


class Constant(ByAction):
    """Play one action always, given by its name or its index (a name goes before an index)."""

    title: ClassVar[str] = "Constant"
    citation: ClassVar[str] = "Akata et al. (2025)"
    memory_depth = 0

    def __init__(self, action: str | int) -> None:
        self.given = action

    def action(self, past: Past) -> int:
        """The given action."""
        return action_index(past.game, past.seat, self.given, self.name)


STRATEGY = Constant
