"""Script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._actions import action_index
from ostrom.agents.strategies._by_action import ByAction
from ostrom.agents.strategy import UNBOUNDED
from ostrom.answers import Form
from ostrom.games.amounts import Value


class Script(ByAction):
    """Play given moves one after the other, by name or by index, whatever the others do; then the last one again."""

    title: ClassVar[str] = "Script"
    citation: ClassVar[str] = "Akata et al. (2025)"
    memory_depth = UNBOUNDED

    def __init__(self, moves: Sequence[str | float] = (0, 1, 0, 0, 1)) -> None:
        given = [moves] if isinstance(moves, str | int | float) else list(moves)
        if not given or not all(isinstance(m, str | int | float) and not isinstance(m, bool) for m in given):
            raise ValueError(f"moves must be a list of actions, found {moves!r}")
        self.moves = tuple(given)

    def action(self, past: Past) -> int:
        """The move of this round."""
        move = self.moves[min(len(past), len(self.moves) - 1)]
        return action_index(past.game, past.seat, int(move) if isinstance(move, float) else move, self.name)

    def choose(self, past: Past, form: Form) -> Value | Mapping[Value, float] | None:  # noqa: ARG002
        """The move of this round, an amount or an option."""
        return self.moves[min(len(past), len(self.moves) - 1)]


STRATEGY = Script
