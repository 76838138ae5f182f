"""Payoffs as a formula in how many players choose an action: short to tell, however many players there are.

A game may supply its formula (public goods: 1.5 x contributors / 3); it is checked against the payoffs. For other games
in which all have the same two actions it is read off the payoffs where these are linear in the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ostrom.games.game import Game

NEAR = 1e-9
"""Payoffs that differ by less, relative to the largest, are the same number."""


@dataclass(frozen=True)
class Term:
    """What one own action pays: constant + factor x k / over."""

    constant: float
    factor: float
    over: float = 1.0

    def at(self, k: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
        """The payoff where ``k`` players choose the counted action.

        >>> Term(1.0, 1.5, 3.0).at(2)
        2.0
        """
        return self.constant + self.factor * k / self.over


@dataclass(frozen=True)
class Formula:
    """A term for every own action; ``k`` counts all players who choose the action ``counted``, the reader included."""

    counted: int
    terms: tuple[Term, ...]

    def fits(self, game: Game, seat: int) -> bool:
        """Whether it gives what a seat is paid at every profile."""
        shape = game.payoffs.shape[:-1]
        if len(self.terms) != shape[seat] or any(self.counted >= count for count in shape):
            return False
        k = np.zeros(shape)
        for place in range(game.seats):
            k += _along(np.arange(shape[place]) == self.counted, place, game.seats)
        scale = max(1.0, float(np.abs(game.payoffs).max()))
        for action, term in enumerate(self.terms):
            at = (slice(None),) * seat + (action,)
            if not np.allclose(term.at(k[at]), game.payoffs[..., seat][at], rtol=0, atol=NEAR * scale):
                return False
        return True


def _along(values: NDArray[np.bool_], place: int, seats: int) -> NDArray[np.float64]:
    return values.astype(np.float64).reshape([-1 if s == place else 1 for s in range(seats)])


def formula_of(game: Game, seat: int) -> Formula | None:
    """The formula that a game supplies, or the one that its payoffs follow; None where they follow none.

    >>> from ostrom.games import games
    >>> build = games.get("stag_hunt")
    >>> formula_of(build(), 0) is not None
    True
    """
    if game.formula is not None:
        return game.formula
    counted = next((c for c in game.cooperative if c is not None), 0)
    if game.seats < 2 or len(set(game.actions)) > 1 or len(game.actions[0]) != 2:
        return None
    terms = []
    for own in range(2):
        ends = [_paid(game, seat, own, counted, many) for many in (0, game.seats - 1)]
        slope = (ends[1] - ends[0]) / (game.seats - 1)
        terms.append(Term(ends[0] - slope * (own == counted), slope))
    found = Formula(counted, tuple(terms))
    return found if found.fits(game, seat) else None


def _paid(game: Game, seat: int, own: int, counted: int, others: int) -> float:
    """What a seat is paid where all others choose the counted action, or none of them does."""
    rest = counted if others else 1 - counted
    profile: Sequence[int] = [own if s == seat else rest for s in range(game.seats)]
    return float(game.payoffs[tuple(profile)][seat])
