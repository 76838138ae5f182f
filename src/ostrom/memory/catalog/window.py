"""The k most recent rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from ostrom.ground.parameters import Ge, checked
from ostrom.mechanisms.protocol import View
from ostrom.memory.base import Draw, Memory, Note, Shown


class Window(Memory):
    """Show the ``k`` most recent rounds; ``window:0`` shows nothing (Liu et al. 2026)."""

    name: ClassVar[str] = "window"

    @checked
    def __init__(self, k: Annotated[int, Ge(0)]) -> None:
        self.k = k

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> Shown:  # noqa: ARG002
        """The last k rounds of the history."""
        return Shown(view.history[-self.k :] if self.k else (), span=self.k)

    def most_lines(self, rounds: int) -> int:
        """At most k."""
        return min(rounds, self.k)


MEMORY = Window
