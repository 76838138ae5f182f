"""Older rounds become a note in the player's own words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from ostrom.answers import Text
from ostrom.ground.parameters import Count, Ge, checked
from ostrom.mechanisms.protocol import View
from ostrom.memory.base import Draw, Memory, Note, NoteDue, Shown


class Summary(Memory):
    """Show recent rounds as they were, and a note that the player itself wrote about all older ones.

    As soon as ``every`` rounds lie further back than the last ``keep``, the player rewrites its note: it is
    given the old note and the rounds that are new to it, and may use ``words`` words. Writing is a question
    within the decision and journaled as such. Rounds that no note covers yet are shown, so nothing falls in
    between: at least ``keep`` and fewer than ``keep + every`` of them.
    """

    name: ClassVar[str] = "summary"
    readers = frozenset({"model"})

    @checked
    def __init__(self, keep: Annotated[int, Ge(0)] = 5, every: Count = 10, words: Count = 100) -> None:
        self.keep, self.every, self.words = keep, every, words

    def due(self, view: View, notes: Sequence[Note]) -> NoteDue | None:
        """A new note once enough rounds have grown old."""
        last = notes[-1] if notes else None
        covered = last.covers if last else 0
        old = len(view.history) - self.keep
        if old - covered < self.every:
            return None
        return NoteDue(Text(words=self.words), old, view.history[covered:old], last.text if last else None)

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> Shown:  # noqa: ARG002
        """The latest note and all rounds that it does not cover."""
        if not notes:
            return Shown(view.history)
        return Shown(view.history[notes[-1].covers :], note=notes[-1].text)

    def most_lines(self, rounds: int) -> int:
        """The rounds that no note covers, and about as many lines as the note has."""
        return min(rounds, self.keep + self.every - 1 + self.words // 4)

    def most_notes(self, rounds: int) -> int:
        """One every so many rounds, once the first have grown old."""
        return max(0, rounds - self.keep) // self.every


MEMORY = Summary
