"""Myopic best response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._actions import action_index, pure
from ostrom.agents.strategies._by_action import ByAction
from ostrom.errors import StudyError


class BestResponse(ByAction):
    """Play what pays most if the others repeat their last actions, or if they play by a fixed belief.

    ``first`` is the first action (name or index); without it, the best response to others who play every
    action with equal chance. ``belief`` holds one list of odds per co-player, by seat. Among equally good
    actions the cooperative one is played, or else the first listed.
    """

    title: ClassVar[str] = "Best Response"
    citation: ClassVar[str] = "Cournot (1838)"
    memory_depth = 1

    def __init__(
        self, first: str | int | None = None, belief: Sequence[Sequence[float]] | None = None
    ) -> None:
        if belief is not None:
            for odds in belief:
                if not isinstance(odds, Sequence) or min(odds) < 0 or abs(sum(odds) - 1) > 1e-9:
                    raise ValueError(
                        f"belief must list odds that sum to 1 for every co-player, found {belief!r}"
                    )
            if first is not None:
                raise ValueError("first and belief exclude each other: a belief settles the first move too")
            self.memory_depth = 0
        self.first, self.belief = first, belief

    def action(self, past: Past) -> int:
        """What pays most against what the others are expected to do."""
        game, seat = past.game, past.seat
        if not past and self.first is not None:
            return action_index(game, seat, self.first, self.name)
        own = range(len(game.actions[seat]))
        if past and self.belief is None:
            # Pure expectations, the common case: four look-ups are much cheaper than tensor arithmetic.
            rest = past.others(-1)
            paid = [game.payoff((*rest[:seat], a, *rest[seat:]))[seat] for a in own]
        else:
            rest_odds = self._expected(past)
            paid = [
                game.expected([*rest_odds[:seat], pure(game, seat, a), *rest_odds[seat:]])[seat] for a in own
            ]
        top = max(paid)
        best = [a for a in own if paid[a] >= top - 1e-9 * max(1.0, abs(top))]
        cooperative = game.cooperative[seat]
        return cooperative if cooperative in best and cooperative is not None else best[0]

    def _expected(self, past: Past) -> list[Sequence[float]]:
        names = [n for s, n in enumerate(past.game.actions) if s != past.seat]
        if self.belief is None:
            return [(1 / len(n),) * len(n) for n in names]
        if [len(odds) for odds in self.belief] != [len(n) for n in names]:
            raise StudyError(
                f"strategy {self.name}: belief must give odds for every action of every co-player in game "
                f"{past.game.name}",
                found=self.belief,
            )
        return list(self.belief)


STRATEGY = BestResponse
