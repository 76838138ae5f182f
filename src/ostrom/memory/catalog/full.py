"""Everything that happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ostrom.mechanisms.protocol import View
from ostrom.memory.base import Draw, Memory, Note, Shown


class Full(Memory):
    """Show every round played so far."""

    name: ClassVar[str] = "full"

    @property
    def grows(self) -> bool:
        """Every round stays."""
        return True

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> Shown:  # noqa: ARG002
        """The whole history."""
        return Shown(view.history)


MEMORY = Full
