"""Alternator."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._actions import action_index, favourite
from ostrom.agents.strategies._by_action import ByAction
from ostrom.ground.parameters import checked


class Alternator(ByAction):
    """Change the action every round, by default from cooperation or else from the other's favourite.

    ``start`` is ``own`` (the own favourite), ``other`` (that of the next player by seat) or an action. With
    more than two actions it goes through them in order. A slip of the hand shifts the pattern.
    """

    title: ClassVar[str] = "Alternator"
    citation: ClassVar[str] = "Akata et al. (2025)"
    memory_depth = 1

    @checked
    def __init__(self, start: str | int | None = None) -> None:
        self.start = start

    def action(self, past: Past) -> int:
        """The action after the last one."""
        if past:
            return (past.own(-1) + 1) % len(past.game.actions[past.seat])
        game, seat = past.game, past.seat
        cooperative = game.cooperative[seat]
        if self.start is None and cooperative is not None:
            return cooperative
        if self.start == "own":
            return favourite(game, seat, seat)
        if self.start is None or self.start == "other":
            return favourite(game, seat, (seat + 1) % game.seats)
        return action_index(game, seat, self.start, self.name)


STRATEGY = Alternator
