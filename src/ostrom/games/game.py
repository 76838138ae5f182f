"""A game in normal form: action sets and payoffs for n seats, with what a study may want to know about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostrom.errors import GameError

Profile = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Game:
    """Payoffs as a tensor of shape (actions of seat 1, ..., actions of seat n, n); actions are named.

    >>> import numpy as np
    >>> pd = Game("pd", (("cooperate", "defect"),) * 2, np.array([[[2, 2], [0, 3]], [[3, 0], [1, 1]]]), (0, 0))
    >>> pd.payoff((0, 1))
    (0.0, 3.0)
    """

    name: str
    actions: tuple[tuple[str, ...], ...]
    payoffs: NDArray[np.float64]
    cooperative: tuple[int | None, ...] = ()
    """Index of the cooperative action of each seat, or None where the game defines none."""
    defective: tuple[int | None, ...] = ()
    """What strategies play when they defect; by default the other action of a two-action seat."""
    roles: tuple[str, ...] = ()
    """What each seat is called; equal names mean interchangeable seats."""
    title: str = ""
    citation: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seats = len(self.actions)
        if seats == 0 or any(len(names) == 0 for names in self.actions):
            raise GameError(f"game {self.name}: every seat needs at least one action")
        for seat, names in enumerate(self.actions, 1):
            if len(set(names)) != len(names):
                raise GameError(f"game {self.name}: seat {seat} names an action twice: {', '.join(names)}")
        payoffs = np.array(self.payoffs, dtype=np.float64)
        shape = (*(len(names) for names in self.actions), seats)
        if payoffs.shape != shape:
            raise GameError(f"game {self.name}: payoffs have shape {payoffs.shape}, the actions need {shape}")
        if not np.isfinite(payoffs).all():
            raise GameError(f"game {self.name}: every payoff must be a finite number")
        payoffs.flags.writeable = False
        object.__setattr__(self, "payoffs", payoffs)
        object.__setattr__(self, "cooperative", self._indices("cooperative", self.cooperative))
        defective = self.defective or tuple(
            1 - c if c is not None and len(names) == 2 else None
            for c, names in zip(self.cooperative, self.actions, strict=True)
        )
        object.__setattr__(self, "defective", self._indices("defective", defective))
        object.__setattr__(self, "roles", self.roles or ("player",) * seats)
        object.__setattr__(self, "title", self.title or self.name.replace("_", " ").capitalize())
        if len(self.roles) != seats:
            raise GameError(f"game {self.name}: {len(self.roles)} roles for {seats} seats")

    def _indices(self, what: str, given: tuple[int | None, ...]) -> tuple[int | None, ...]:
        if not given:
            return (None,) * len(self.actions)
        if len(given) != len(self.actions):
            raise GameError(f"game {self.name}: {what} names {len(given)} seats, the game has {self.seats}")
        for seat, (index, names) in enumerate(zip(given, self.actions, strict=True), 1):
            if index is not None and not 0 <= index < len(names):
                raise GameError(f"game {self.name}: {what} action of seat {seat} is {index}, not an action")
        return given

    @property
    def seats(self) -> int:
        """How many seats the game has."""
        return len(self.actions)

    @cached_property
    def _table(self) -> dict[Profile, tuple[float, ...]]:
        # Scoring is on the hot path of every round: a dictionary beats indexing an array by far.
        return {p: tuple(float(x) for x in self.payoffs[p]) for p in self.profiles()}

    @cached_property
    def _index(self) -> tuple[dict[str, int], ...]:
        return tuple({name: i for i, name in enumerate(names)} for names in self.actions)

    def profiles(self) -> Iterator[Profile]:
        """Every combination of actions, in order."""
        return product(*(range(len(names)) for names in self.actions))

    def payoff(self, profile: Sequence[int]) -> tuple[float, ...]:
        """What each seat is paid at a profile of action indices."""
        return self._table[tuple(profile)]

    def index(self, seat: int, action: str) -> int:
        """The index of a named action of a seat."""
        try:
            return self._index[seat][action]
        except KeyError:
            allowed = ", ".join(self.actions[seat])
            raise GameError(
                f"game {self.name}: seat {seat + 1} has no action {action!r} (allowed: {allowed})"
            ) from None

    def cooperates(self, seat: int, action: int) -> bool | None:
        """Whether an action is the cooperative one; None where the game defines none."""
        cooperative = self.cooperative[seat]
        return None if cooperative is None else action == cooperative

    def expected(self, mixtures: Sequence[Sequence[float]]) -> tuple[float, ...]:
        """Exact expected payoffs under independent mixed strategies, one per seat."""
        value: NDArray[np.float64] = self.payoffs
        for mixture in mixtures:
            value = np.tensordot(np.asarray(mixture, dtype=np.float64), value, axes=(0, 0))
        return tuple(float(x) for x in value)
