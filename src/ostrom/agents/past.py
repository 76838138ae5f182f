"""The past from one seat's side: finished rounds in terms of cooperation."""

from collections.abc import Sequence

from ostrom.answers import Answer
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.mechanisms.protocol import Round, View


class Past:
    """The rounds that a seat remembers, oldest first; indices may be negative as in a list.

    With more than one co-player "the others cooperated" means that all of them did, or all but
    ``tolerance`` of them. Moves are those that were carried out: a trembling hand shows as what it did.
    One object serves all decisions of a match and is updated for each of them, so a strategy must not keep it.

    >>> from ostrom.testing.check_strategy import PRISONERS_DILEMMA, view_of
    >>> past = Past(view_of(PRISONERS_DILEMMA, [(0, 1)]))
    >>> len(past), past.own_action(-1), past.others(-1), past.cooperated(-1), past.i_cooperated(-1)
    (1, 0, (1,), False, True)
    """

    __slots__ = ("_good", "_its_good", "_other", "game", "replies", "rounds", "seat", "tolerance", "view")

    def __init__(self, view: View, rounds: Sequence[Round] | None = None, tolerance: int = 0) -> None:
        self.game: Game = view.game
        self.seat, self.tolerance = view.seat, tolerance
        self.replies: dict[float, Answer] = {}
        """The agent's answers by chance of cooperating, if the strategy states that chance alone."""
        # With one co-player: its seat, and its cooperative action.
        self._good, self._other = self.game.cooperative[self.seat], 1 - self.seat
        self._its_good = self.game.cooperative[self._other] if self.game.seats == 2 else None
        self.view = view
        self.rounds: Sequence[Round] = view.history.played_rounds() if rounds is None else rounds

    def __len__(self) -> int:
        return len(self.rounds)

    def own_action(self, i: int) -> int:
        """The index of the action this seat played in round i."""
        return self.rounds[i].actions[self.seat]

    own = own_action  # its name in strategies of outside packages since 1.0

    def others(self, i: int) -> tuple[int, ...]:
        """The indices of the co-players' actions in round i, by seat."""
        actions = self.rounds[i].actions
        return actions[: self.seat] + actions[self.seat + 1 :]

    def i_cooperated(self, i: int) -> bool:
        """Whether this seat played its cooperative action in round i."""
        action = self.rounds[i].actions[self.seat]
        return self._cooperates(self.seat, action) if self._good is None else action == self._good

    def cooperated(self, i: int) -> bool:
        """Return whether the co-player (or all of them, up to the tolerance) cooperated in round i."""
        if self._its_good is not None:
            return self.rounds[i].actions[self._other] == self._its_good
        return self.defectors(i) <= self.tolerance

    def cooperated_throughout(self, last: int) -> bool:
        """Return whether the others cooperated in each of the last rounds, or in all if there are fewer."""
        if self._its_good is None:
            return all(self.cooperated(-i) for i in range(1, min(last, len(self)) + 1))
        for past in self.rounds[-last:]:  # noqa: SIM110 (all() takes twice the time)
            if past.actions[self._other] != self._its_good:
                return False
        return True

    def defected_throughout(self, last: int) -> bool:
        """Return whether the others defected in each of the last rounds; False if there are fewer."""
        if len(self.rounds) < last:
            return False
        if self._its_good is None:
            return not any(self.cooperated(-i) for i in range(1, last + 1))
        for past in self.rounds[-last:]:  # noqa: SIM110 (all() takes twice the time)
            if past.actions[self._other] == self._its_good:
                return False
        return True

    def defectors(self, i: int) -> int:
        """How many co-players did not play their cooperative action in round i."""
        return sum(not self._cooperates(s, action) for s, action in enumerate(self.rounds[i].actions) if s != self.seat)

    def _cooperates(self, seat: int, action: int) -> bool:
        cooperative = self.game.cooperative[seat]
        if cooperative is None:
            raise StudyError(f"game {self.game.name} defines no cooperative action for seat {seat + 1}")
        return action == cooperative
