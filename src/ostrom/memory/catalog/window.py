"""The k most recent rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ostrom.mechanisms.protocol import View
from ostrom.memory.base import Draw, Memory, Shown


class Window(Memory):
    """Show the ``k`` most recent rounds; ``window:0`` shows nothing."""

    name: ClassVar[str] = "window"

    def __init__(self, k: int) -> None:
        if not isinstance(k, int) or isinstance(k, bool) or k < 0:
            raise ValueError(f"k must be a whole number of at least 0, found {k!r}")
        self.k = k

    def show(self, view: View, draw: Draw, notes: Sequence[str] = ()) -> Shown:  # noqa: ARG002
        """The last k rounds of the history."""
        return Shown(view.history[-self.k :] if self.k else (), span=self.k)

    def most_lines(self, rounds: int) -> int:
        """At most k."""
        return min(rounds, self.k)


MEMORY = Window
