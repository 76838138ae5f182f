"""The past as one seat sees it: a thin reading of finished rounds in terms of cooperation."""

from __future__ import annotations

from collections.abc import Sequence

from ostrom.errors import StudyError
from ostrom.games.game import Game
from ostrom.mechanisms.protocol import Round, View


class Past:
    """The rounds a seat remembers, oldest first; round indices may be negative as in a list.

    With more than one co-player "the others cooperated" means that all of them did, or all but
    ``tolerance`` of them. Moves are those that were carried out: a trembling hand shows as what it did.

    >>> from ostrom.testing.check_strategy import PRISONERS_DILEMMA, view_of
    >>> past = Past(view_of(PRISONERS_DILEMMA, [(0, 1)]))
    >>> len(past), past.own(-1), past.others(-1), past.cooperated(-1), past.i_cooperated(-1)
    (1, 0, (1,), False, True)
    """

    __slots__ = ("rounds", "seat", "tolerance", "view")

    def __init__(self, view: View, rounds: Sequence[Round] | None = None, tolerance: int = 0) -> None:
        self.view = view
        self.seat = view.seat
        self.rounds: Sequence[Round] = view.history if rounds is None else rounds
        self.tolerance = tolerance

    @property
    def game(self) -> Game:
        """The game that is played."""
        return self.view.game

    def __len__(self) -> int:
        return len(self.rounds)

    def own(self, i: int) -> int:
        """The index of the action this seat played in round i."""
        return self.rounds[i].actions[self.seat]

    def others(self, i: int) -> tuple[int, ...]:
        """The indices of the co-players' actions in round i, by seat."""
        actions = self.rounds[i].actions
        return actions[: self.seat] + actions[self.seat + 1 :]

    def i_cooperated(self, i: int) -> bool:
        """Whether this seat played its cooperative action in round i."""
        return self._cooperates(self.seat, self.rounds[i].actions[self.seat])

    def cooperated(self, i: int) -> bool:
        """Whether the co-player (all of them, less the tolerance) cooperated in round i."""
        actions = self.rounds[i].actions
        if len(actions) == 2:
            other = 1 - self.seat
            cooperative = self.view.game.cooperative[other]
            if cooperative is not None:
                return actions[other] == cooperative
        return self.defectors(i) <= self.tolerance

    def defectors(self, i: int) -> int:
        """How many co-players did not play their cooperative action in round i."""
        actions = self.rounds[i].actions
        return sum(not self._cooperates(s, action) for s, action in enumerate(actions) if s != self.seat)

    def _cooperates(self, seat: int, action: int) -> bool:
        cooperative = self.view.game.cooperative[seat]
        if cooperative is None:
            game = self.view.game.name
            raise StudyError(f"game {game} defines no cooperative action for seat {seat + 1}")
        return action == cooperative
