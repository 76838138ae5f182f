"""Rounds that the player itself decides to keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ostrom.answers import Form
from ostrom.ground.parameters import Count, checked
from ostrom.mechanisms.protocol import Round, View
from ostrom.memory.base import Draw, Memory, Note, NoteDue, Shown
from ostrom.memory.round_numbers import round_numbers


class Curated(Memory):
    """Show the rounds that the player keeps, at most ``k`` of them.

    Whenever a new round makes it more than ``k``, the player decides which ones to keep (kind keep): it sees
    those kept so far and the new one. What is not kept is gone for good.
    """

    name: ClassVar[str] = "curated"
    readers = frozenset({"model"})
    asks = "keep"
    note_form: Form = round_numbers("keep", 1, [1])

    @checked
    def __init__(self, k: Count) -> None:
        self.k = k

    def due(self, view: View, notes: Sequence[Note]) -> NoteDue | None:
        """A choice among the rounds in view, once there are too many."""
        left = self._left(view, notes)
        if len(left) <= self.k:
            return None
        return NoteDue(round_numbers("keep", self.k, [r.number for r in left]), len(view.history), left)

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> Shown:  # noqa: ARG002
        """The rounds that were kept, and those played since, up to k of them."""
        return Shown(self._left(view, notes)[-self.k :], gaps=True)

    def _left(self, view: View, notes: Sequence[Note]) -> list[Round]:
        """What was kept last, and all rounds since."""
        if not notes:
            return list(view.history)
        kept, last = set(notes[-1].rounds), notes[-1].covers
        return [r for i, r in enumerate(view.history) if i >= last or r.number in kept]

    def most_lines(self, rounds: int) -> int:
        """At most k."""
        return min(rounds, self.k)

    def most_notes(self, rounds: int) -> int:
        """One in every round that has more than k behind it."""
        return max(0, rounds - self.k)


MEMORY = Curated
