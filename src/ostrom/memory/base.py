"""What every memory offers: from a view to what is shown of the past."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from ostrom.mechanisms.protocol import Round, View

Draw: TypeAlias = Callable[[int, str], np.random.Generator]
"""A keyed stream of the match for a round number and a purpose; the same arguments, the same draws."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a seat is shown of the past."""

    rounds: Sequence[Round] = ()
    """The rounds shown, oldest first; a memory may make them up."""
    span: int | None = None
    """How many recent rounds the memory reaches back at most (None: all of them)."""
    note: str | None = None
    """Words in place of older rounds."""


class Memory(ABC):
    """Which part of the past a seat sees. Stateless: what it shows depends on the view and keyed draws."""

    name: ClassVar[str]

    @abstractmethod
    def show(self, view: View, draw: Draw, notes: Sequence[str] = ()) -> Shown:
        """What the seat is shown before it decides; ``notes`` are its own earlier notes, oldest first."""

    def most_lines(self, rounds: int) -> int:
        """An upper bound of the rounds shown when ``rounds`` have been played, for forecasts."""
        return rounds
