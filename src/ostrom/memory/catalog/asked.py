"""Rounds that the player itself asks to see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ostrom.answers import Form
from ostrom.ground.parameters import Count, checked
from ostrom.mechanisms.protocol import View
from ostrom.memory.base import Draw, Memory, Note, NoteDue, Shown
from ostrom.memory.round_numbers import round_numbers


class Asked(Memory):
    """Show the rounds that the player names, at most ``k`` of them, before every decision anew.

    Naming them is a decision of its own (kind recall), taken without any round in view. While no more than
    ``k`` rounds have been played all of them are shown and nothing is asked.
    """

    name: ClassVar[str] = "asked"
    readers = frozenset({"model"})
    asks = "recall"
    note_form: Form = round_numbers("recall", 1, 1)

    @checked
    def __init__(self, k: Count) -> None:
        self.k = k

    def due(self, view: View, notes: Sequence[Note]) -> NoteDue | None:
        """A new list of rounds after every round, once there are more than can be shown."""
        played = len(view.history)
        if played <= self.k or (notes and notes[-1].covers == played):
            return None
        return NoteDue(round_numbers("recall", self.k, played), played)

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> Shown:  # noqa: ARG002
        """The rounds that were named last."""
        if len(view.history) <= self.k:
            return Shown(view.history, gaps=True)
        named = set(notes[-1].rounds) if notes else set()
        return Shown([r for r in view.history if r.number in named], gaps=True)

    def most_lines(self, rounds: int) -> int:
        """At most k."""
        return min(rounds, self.k)

    def most_notes(self, rounds: int) -> int:
        """One in every round that has more than k behind it."""
        return max(0, rounds - self.k)


MEMORY = Asked
