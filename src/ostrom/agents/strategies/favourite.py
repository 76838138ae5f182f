"""Favourite."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._actions import favourite
from ostrom.agents.strategies._by_action import ByAction


class Favourite(ByAction):
    """Play the action that belongs to the own best outcome; the first listed among equals."""

    title: ClassVar[str] = "Favourite"
    citation: ClassVar[str] = "Luce and Raiffa (1957)"
    memory_depth = 0

    def action(self, past: Past) -> int:
        """The own part in the own best outcome."""
        return favourite(past.game, past.seat, past.seat)


STRATEGY = Favourite
