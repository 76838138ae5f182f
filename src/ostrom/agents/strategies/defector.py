"""Defector."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategy import D, Strategy


class Defector(Strategy):
    """Defect always."""

    title: ClassVar[str] = "Defector"
    citation: ClassVar[str] = "Axelrod (1984)"
    memory_depth = 0

    def move(self, past: Past) -> float:  # noqa: ARG002
        """The chance of cooperating after this past."""
        return D


STRATEGY = Defector
