"""Grim trigger."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.strategy import C, D, Machine


class Grim(Machine[bool]):
    """Cooperate until the other defects, then defect for good."""

    title: ClassVar[str] = "Grim"
    citation: ClassVar[str] = "Friedman (1971)"
    initial = True

    def step(self, state: bool, own: bool, others: bool) -> bool:  # noqa: ARG002
        """Whether the peace still holds."""
        return state and others

    def cooperate(self, state: bool) -> float:
        """Cooperate while the peace holds."""
        return C if state else D


STRATEGY = Grim
