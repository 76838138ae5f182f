"""The k most recent rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ostrom.mechanisms.protocol import View
from ostrom.memory.base import Draw, Memory, Note, Shown
from ostrom.memory.parameters import whole


class Window(Memory):
    """Show the ``k`` most recent rounds; ``window:0`` shows nothing (Liu et al. 2026)."""

    name: ClassVar[str] = "window"

    def __init__(self, k: int) -> None:
        self.k = whole("k", k, least=0)

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> Shown:  # noqa: ARG002
        """The last k rounds of the history."""
        return Shown(view.history[-self.k :] if self.k else (), span=self.k)

    def most_lines(self, rounds: int) -> int:
        """At most k."""
        return min(rounds, self.k)


MEMORY = Window
