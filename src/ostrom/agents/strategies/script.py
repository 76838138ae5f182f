"""Script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._actions import action_index, at_stage
from ostrom.agents.strategies._by_action import ByAction
from ostrom.agents.strategy import UNBOUNDED
from ostrom.answers import Form
from ostrom.games.amounts import Value
from ostrom.ground.errors import StudyError


class Script(ByAction):
    """Play given moves one after the other, by name or by index, whatever the others do; then the last one again.

    Moves count rounds: a round that asks several times gets the same move each time. Where a round has stages, there
    may be a list for each (``{offer: [40, 50], reply: [accept, reject]}``).
    """

    title: ClassVar[str] = "Script"
    citation: ClassVar[str] = "Akata et al. (2025)"
    memory_depth = UNBOUNDED

    def __init__(
        self,
        moves: Sequence[str | float] | Mapping[str, Sequence[str | float]] = (0, 1, 0, 0, 1),
    ) -> None:
        self.moves = {
            stage: _listed(given)
            for stage, given in (moves.items() if isinstance(moves, Mapping) else [("", moves)])
        }
        self.by_stage = isinstance(moves, Mapping)
        self.fixed_rounds = max(map(len, self.moves.values()), default=0)
        if not self.fixed_rounds:
            raise ValueError(f"moves must be a list of actions, found {moves!r}")

    def action(self, past: Past) -> int:
        """The move of this round."""
        if self.by_stage:
            raise StudyError(
                f"strategy {self.name}: game {past.game.name} has named actions and no stages",
                found=self.moves,
            )
        move = self.choose(past)
        return action_index(past.game, past.seat, int(move) if isinstance(move, float) else move, self.name)

    def choose(self, past: Past, form: Form | None = None) -> Value:  # noqa: ARG002
        """The move of this round, an amount or an option, by stage where they are given so."""
        moves = at_stage(self.moves, past, self.name) if self.by_stage else self.moves[""]
        move: Value = moves[min(len(past), len(moves) - 1)]
        return move


def _listed(moves: Sequence[str | float]) -> tuple[str | float, ...]:
    given = [moves] if isinstance(moves, str | int | float) else list(moves)
    if not given or not all(isinstance(m, str | int | float) and not isinstance(m, bool) for m in given):
        raise ValueError(f"moves must be a list of actions, found {moves!r}")
    return tuple(given)


STRATEGY = Script
