"""What a mechanism has to tell for its matches to be played as arrays instead of one by one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArrayRules:
    """Simultaneous rounds of one game, all actions seen by all: the rules of plain repetition."""

    rounds: int
    noise: float = 0.0
    continuation: float | None = None
    """The chance of another round where chance ends the match; None: exactly ``rounds``."""
    discount: float | None = None
