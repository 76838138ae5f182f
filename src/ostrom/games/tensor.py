"""A game in normal form: payoffs of named actions as a tensor."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from ostrom.games.formula import ClaimFormula, Formula
from ostrom.games.game import Due, End, Game, Now, Profile, Stages
from ostrom.games.words import Words
from ostrom.ground.errors import GameError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_SEATS = 30
"""The most seats: arrays of numpy 1 have at most 32 dimensions, and ``told`` has two more than there are seats."""
MAX_PROFILES = 1_000_000
"""The most profiles; a larger game is taken for a typing error."""

ACT = "act"
"""The stage of a round's only step."""


def check_size(name: str, counts: Sequence[int]) -> None:
    """Refuse a game that is too large, before it is built."""
    if len(counts) > MAX_SEATS:
        raise GameError(f"game {name}: {len(counts)} seats are more than {MAX_SEATS}")
    if prod(counts) > MAX_PROFILES:
        raise GameError(f"game {name}: {prod(counts)} profiles are more than {MAX_PROFILES}")


def table_of(game: Game) -> TensorGame:
    """Return the game as one with a payoff table; refused if it has none."""
    if not isinstance(game, TensorGame):
        raise GameError(f"game {game.name}: its payoffs are in no table, which is needed here")
    return game


@dataclass(frozen=True, eq=False)
class TensorGame(Game):
    """Payoffs as a tensor of shape (actions of seat 1, ..., actions of seat n, n); actions are named.

    >>> import numpy as np
    >>> payoffs = np.array([[[2, 2], [0, 3]], [[3, 0], [1, 1]]])
    >>> pd = TensorGame("pd", (("cooperate", "defect"),) * 2, payoffs, cooperative=(0, 0))
    >>> pd.payoff((0, 1))
    (0.0, 3.0)
    """

    has_table: ClassVar[bool] = True

    name: str
    actions: tuple[tuple[str, ...], ...]
    payoffs: NDArray[np.float64]
    cooperative: tuple[int | None, ...] = ()
    """The index of each seat's cooperative action; None if the game defines none."""
    defective: tuple[int | None, ...] = ()
    """The action of strategies that defect; by default the other one of a two-action seat."""
    roles: tuple[str, ...] = ()
    """What each seat is called; equal names mean interchangeable seats. By default every seat is a "player"
    where all seats are interchangeable, otherwise they are "player_1", "player_2" and so on."""
    title: str = ""
    citation: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    words: Words = field(default_factory=Words)
    """The story of the game, for framings that tell it."""
    formula: Formula | ClaimFormula | None = None
    """The payoffs as a formula, if the game has one; checked against the payoffs."""
    told: NDArray[np.float64] | None = None
    """``told[reader]`` are the payoffs that a reader is told; None if all are told the actual ones."""
    formerly: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        import numpy as np

        seats = len(self.actions)
        self._refuse_if(
            seats == 0 or any(len(names) == 0 for names in self.actions), "every seat needs at least one action"
        )
        check_size(self.name, [len(names) for names in self.actions])
        self._complete(actions=tuple(tuple(names) for names in self.actions))
        for seat, names in enumerate(self.actions, 1):
            self._refuse_if(
                any(not isinstance(name, str) or not name.strip() for name in names),
                f"seat {seat} has an action without a name: {names}",
            )
            self._refuse_if(len(set(names)) != len(names), f"seat {seat} names an action twice: {', '.join(names)}")
            self._refuse_if(
                self.formerly and (len(self.formerly) != len(names) or len(set(self.formerly)) != len(names)),
                f"formerly needs one name for each of {len(names)} actions: {', '.join(map(str, self.formerly))}",
            )
        try:
            payoffs = np.array(self.payoffs, dtype=np.float64)
        except (TypeError, ValueError):
            raise GameError(f"game {self.name}: payoffs must be a full tensor of numbers") from None
        shape = (*(len(names) for names in self.actions), seats)
        self._refuse_if(payoffs.shape != shape, f"payoffs have shape {payoffs.shape}, the actions need {shape}")
        self._refuse_if(not np.isfinite(payoffs).all(), "every payoff must be a finite number")
        payoffs.flags.writeable = False
        self._complete(payoffs=payoffs, cooperative=self._indices("cooperative", self.cooperative))
        defective = self.defective or tuple(
            1 - c if c is not None and len(names) == 2 else None
            for c, names in zip(self.cooperative, self.actions, strict=True)
        )
        self._complete(
            defective=self._indices("defective", defective),
            roles=tuple(self.roles) or self._default_roles(),
            title=self.title or self.name.replace("_", " ").capitalize(),
        )
        self._refuse_if(len(self.roles) != seats, f"{len(self.roles)} roles for {seats} seats")
        self.words.check(self.name, self.actions)
        if self.told is not None:
            self._complete(told=self._check_stated(np.array(self.told, dtype=np.float64)))
        self._refuse_if(
            self.formula is not None and not all(self.formula.fits(self.payoffs, seat) for seat in range(seats)),
            "the formula does not give the payoffs",
        )

    def as_journaled(self, questions: Iterable[str]) -> Game:
        """Return the game with the action names of a journal's questions.

        >>> import numpy as np
        >>> pd = TensorGame("pd", (("c", "d"),) * 2, np.zeros((2, 2, 2)), formerly=("up", "down"))
        >>> pd.as_journaled(['["act","Choice",{"options":["up","down"]}]']).actions[0], pd.as_journaled([]) is pd
        (('up', 'down'), True)
        """
        names = json.dumps(self.formerly, ensure_ascii=False, separators=(",", ":"))
        if not self.formerly or not any(names in question for question in questions):
            return self
        return replace(self, actions=(self.formerly,) * self.seats, formerly=())

    def _check_stated(self, told: NDArray[np.float64]) -> NDArray[np.float64]:
        """Check stated payoffs: finite, and correct about the reader's own."""
        import numpy as np

        self._refuse_if(
            told.shape != (self.seats, *self.payoffs.shape) or not np.isfinite(told).all(),
            "told must hold a full tensor of finite payoffs for every seat",
        )
        for seat in range(self.seats):
            self._refuse_if(
                not np.array_equal(told[seat][..., seat], self.payoffs[..., seat]),
                f"seat {seat + 1} must be told its own payoffs as they are scored",
            )
        told.flags.writeable = False
        return told

    def _default_roles(self) -> tuple[str, ...]:
        alike = symmetric(self.actions, self.payoffs)
        return tuple("player" if alike else f"player_{seat}" for seat in range(1, len(self.actions) + 1))

    @cached_property
    def _table(self) -> dict[Profile, tuple[float, ...]]:
        # Scoring is on the hot path of every round: a dictionary is much faster than array indexing.
        return {p: tuple(float(x) for x in self.payoffs[p]) for p in self.profiles()}

    @cached_property
    def _turns(self) -> tuple[Due, ...]:
        return tuple(Due(seat, ACT, names) for seat, names in enumerate(self.actions))

    def play(self, now: Now) -> Stages:  # noqa: ARG002
        """Play a round of one step: all seats decide at the same time, and the table gives the payoffs."""
        done = yield self._turns
        return End(self.payoff([self.index(seat, action) for seat, action in enumerate(done)]))

    @property
    def best_total(self) -> float:
        """Return the largest total payoff of a profile."""
        return float(self.payoffs.sum(axis=-1).max())

    def profiles(self) -> Iterator[Profile]:
        """Every combination of actions, in order."""
        return product(*(range(len(names)) for names in self.actions))

    def payoff(self, profile: Sequence[int]) -> tuple[float, ...]:
        """What each seat is paid at a profile of action indices."""
        return self._table[tuple(profile)]

    def stated_payoff(self, reader: int, profile: Sequence[int]) -> tuple[float, ...]:
        """Return the payoffs that a seat is told; nearly always the actual ones."""
        if self.told is None:
            return self.payoff(profile)
        return tuple(float(x) for x in self.told[reader][tuple(profile)])

    def expected(self, mixtures: Sequence[Sequence[float]]) -> tuple[float, ...]:
        """Exact expected payoffs under independent mixed strategies, one per seat."""
        value: NDArray[np.float64] = self.payoffs
        for mixture in mixtures:
            value = averaged(value, mixture)
        return tuple(float(x) for x in value)


def averaged(values: NDArray[np.float64], shares: Sequence[float]) -> NDArray[np.float64]:
    """Return the weighted mean over the first axis, with the same last bits on every machine.

    A product of matrices would leave the order of its sums to the library that numpy was built with.

    >>> import numpy as np
    >>> averaged(np.array([[0.0, 4.0], [2.0, 0.0]]), [0.5, 0.5]).tolist()
    [1.0, 2.0]
    """
    import numpy as np

    return reduce(np.add, (float(share) * part for share, part in zip(shares, values, strict=True)))


def interchangeable(actions: Sequence[Sequence[str]], payoffs: NDArray[np.float64], seat: int, other: int) -> bool:
    """Return whether two seats have the same actions and swapping them changes no payoff.

    >>> import numpy as np
    >>> pd = np.array([[[2, 2], [0, 3]], [[3, 0], [1, 1]]], dtype=float)
    >>> interchangeable((("c", "d"), ("c", "d")), pd, 0, 1)
    True
    """
    import numpy as np

    if tuple(actions[seat]) != tuple(actions[other]):
        return False
    order = list(range(len(actions)))
    order[seat], order[other] = order[other], order[seat]
    return bool(np.array_equal(payoffs.swapaxes(seat, other)[..., order], payoffs))


def symmetric(actions: Sequence[Sequence[str]], payoffs: NDArray[np.float64]) -> bool:
    """Whether all seats are interchangeable (neighbouring swaps generate every permutation)."""
    return all(interchangeable(actions, payoffs, s, s + 1) for s in range(len(actions) - 1))


Matrix = Sequence[Sequence[tuple[float, float]]]


def bimatrix(name: str, actions: tuple[tuple[str, ...], tuple[str, ...]], matrix: Matrix, **facts: Any) -> Game:
    """A two-seat game: ``matrix[i][j]`` is what seat 1 and seat 2 get when they play i and j.

    >>> game = bimatrix("toy", (("up", "down"), ("left", "right")), [[(1, 2), (3, 4)], [(5, 6), (7, 8)]])
    >>> game.payoff((1, 0))
    (5.0, 6.0)
    """
    import numpy as np

    return TensorGame(name, actions, np.array(matrix, dtype=np.float64), **facts)


def symmetric_2x2(
    name: str, actions: tuple[str, str], both: float, alone: float, other: float, neither: float, **facts: Any
) -> Game:
    """Return a symmetric 2x2 game from one seat's payoffs: both play the first action, only I, only the other, none."""
    return bimatrix(
        name, (actions, actions), [[(both, both), (alone, other)], [(other, alone), (neither, neither)]], **facts
    )
