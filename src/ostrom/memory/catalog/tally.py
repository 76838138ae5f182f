"""How often what happened, and nothing about when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, Literal

from ostrom.ground.parameters import checked
from ostrom.mechanisms.protocol import View
from ostrom.memory.base import Count, Draw, Memory, Note, Shown


class TallyMemory(Memory):
    """Show counts instead of rounds.

    ``of`` combinations: how often each combination of everybody's actions came about. ``of`` players: how
    often each player, oneself first, took each action. What never happened is not listed. Rounds that are void
    because somebody missed them come first, as a count without actions.
    """

    name: ClassVar[str] = "tally"
    readers = frozenset({"model", "person"})

    @checked
    def __init__(self, of: Literal["combinations", "players"] = "combinations") -> None:
        self.of = of

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> Shown:  # noqa: ARG002
        """Counts in the order of the actions; for players, in the order self, then by seat."""
        profiles = Counter(r.actions for r in view.history)
        if self.of == "combinations":
            return Shown(counts=[Count(actions, times) for actions, times in sorted(profiles.items())])
        seats = view.game.seats
        counts = [Count((), void)] if (void := profiles.pop((), 0)) else []
        for seat in sorted(range(seats), key=lambda s: (s != view.seat, s)):
            taken: Counter[int] = Counter()
            for actions, times in profiles.items():
                taken[actions[seat]] += times
            for action, times in sorted(taken.items()):
                counts.append(Count(tuple(action if s == seat else None for s in range(seats)), times))
        return Shown(counts=counts)


MEMORY = TallyMemory
