"""What every game offers: seats, what each of them may do, and what a profile of actions pays.

There are two kinds. A ``TensorGame`` holds every payoff in a table and has equilibria; a ``FunctionGame`` computes
payoffs by a rule, so that its actions may be amounts, its decisions may follow each other, and a round may leave
something behind for the next one. What needs the table asks for ``payoffs``, and is refused in one line where there
is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ostrom.games.amounts import Amounts, Options
from ostrom.games.words import Words
from ostrom.ground.errors import GameError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ostrom.games.formula import Formula
    from ostrom.games.named import Named

Profile = tuple[int, ...]


class Game:
    """Seats, actions and payoffs. Actions are indices into ``actions``, the names of what each seat may do.

    No abstract base class: ``isinstance`` is asked in every turn, and takes several times as long on one.
    """

    name: str
    actions: tuple[Options, ...]
    """What each seat may do: a tuple of names, or ``Amounts``, which is a sequence of names too."""
    cooperative: tuple[int | None, ...]
    defective: tuple[int | None, ...]
    roles: tuple[str, ...]
    title: str
    citation: str
    params: Mapping[str, Any]
    words: Words
    formula: Formula | None
    payoffs: NDArray[np.float64]
    """The payoffs of all profiles; a game without a table refuses."""

    @property
    def seats(self) -> int:
        """How many seats the game has."""
        return len(self.actions)

    def payoff(self, profile: Sequence[int]) -> tuple[float, ...]:
        """What each seat is paid at a profile of action indices."""
        raise NotImplementedError

    def payoff_told(self, reader: int, profile: Sequence[int]) -> tuple[float, ...]:
        """What a seat is told that each is paid at a profile; nearly always what is paid."""
        raise NotImplementedError

    def profiles(self) -> Iterator[Profile]:
        """Every combination of actions, in order."""
        raise NotImplementedError

    def expected(self, mixtures: Sequence[Sequence[float]]) -> tuple[float, ...]:
        """Exact expected payoffs under independent mixed strategies, one per seat."""
        raise NotImplementedError

    @cached_property
    def _index(self) -> tuple[dict[str, int], ...]:
        return tuple({name: i for i, name in enumerate(names)} for names in self.actions)

    @cached_property
    def named(self) -> Named:
        """The profiles by the names of the actions, seat after seat: ``game.named["stag"]["hare"]``."""
        from ostrom.games.named import Named

        return Named(self)

    def index(self, seat: int, action: str) -> int:
        """The index of a named action of a seat."""
        try:
            return self._index[seat][action]
        except KeyError:
            allowed = ", ".join(self.actions[seat])
            raise GameError(
                f"game {self.name}: seat {seat + 1} has no action {action!r} (allowed: {allowed})"
            ) from None

    def named_actions(self, seat: int) -> tuple[str, ...]:
        """The names of a seat's actions; refused where they are amounts, which nobody lists."""
        options = self.actions[seat]
        if type(options) is not tuple:  # not isinstance: that takes several times as long on a Sequence
            raise GameError(
                f"game {self.name}: seat {seat + 1} names an amount, and a list of named actions is needed here"
            )
        return options

    def index_of(self, seat: int) -> Mapping[str, int]:
        """The indices of a seat's actions by name."""
        return self._index[seat]

    def cooperates(self, seat: int, action: int) -> bool | None:
        """Whether an action is the cooperative one; None where the game defines none."""
        cooperative = self.cooperative[seat]
        return None if cooperative is None else action == cooperative

    def amount(self, seat: int, action: int) -> float | None:
        """The amount that an action stands for; None where it is no amount."""
        options = self.actions[seat]
        if not isinstance(options, Amounts) or action >= options.levels:
            return None
        return float(options.value(action))

    def _indices(self, what: str, given: tuple[int | None, ...]) -> tuple[int | None, ...]:
        if not given:
            return (None,) * len(self.actions)
        if len(given) != len(self.actions):
            raise GameError(f"game {self.name}: {what} names {len(given)} seats, the game has {self.seats}")
        given = tuple(given)
        for seat, (index, names) in enumerate(zip(given, self.actions, strict=True), 1):
            if index is not None and not (isinstance(index, int) and 0 <= index < len(names)):
                raise GameError(f"game {self.name}: {what} action of seat {seat} is {index}, not an action")
        return given
