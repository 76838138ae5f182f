"""Payoffs as a formula of how many players choose an action.

A game may supply its formula (public goods: 1.5 x contributors / 3); it is checked against the payoffs. For other games
in which all have the same two actions it is read off the payoffs where these are linear in the number
(``describe.formula_of``). The Traveler's Dilemma has its own formula, by the lower of
two claims (``ClaimFormula``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEAR = 1e-9
"""The relative difference below which payoffs are equal."""


@dataclass(frozen=True)
class Term:
    """The payoff of one own action: constant + factor x k / over."""

    constant: float
    factor: float
    over: float = 1.0

    def payoff(self, k: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
        """The payoff where ``k`` players choose the counted action.

        >>> Term(1.0, 1.5, 3.0).payoff(2)
        2.0
        """
        return self.constant + self.factor * k / self.over


@dataclass(frozen=True)
class Formula:
    """A term for every own action; ``k`` counts all players with the action ``counted``, the reader included."""

    counted: int
    terms: tuple[Term, ...]

    def fits(self, payoffs: NDArray[np.float64], seat: int) -> bool:
        """Return whether the formula equals a seat's payoffs at every profile."""
        import numpy as np

        shape = payoffs.shape[:-1]
        if len(self.terms) != shape[seat] or any(self.counted >= count for count in shape):
            return False
        k = np.zeros(shape)
        for place in range(len(shape)):
            np.moveaxis(k, place, 0)[self.counted] += 1
        near = NEAR * max(1.0, float(np.abs(payoffs).max()))
        by_action = zip(self.terms, np.moveaxis(k, seat, 0), np.moveaxis(payoffs[..., seat], seat, 0), strict=True)
        return all(np.allclose(term.payoff(chosen), paid, rtol=0, atol=near) for term, chosen, paid in by_action)


@dataclass(frozen=True)
class ClaimFormula:
    """Two claims: equal ones are paid; else the lower, with a bonus from the higher to the lower claimant."""

    claims: tuple[float, ...]
    """The claim of each action."""
    bonus: float

    def fits(self, payoffs: NDArray[np.float64], seat: int) -> bool:
        """Return whether the formula equals a seat's payoffs at every profile."""
        import numpy as np

        if payoffs.shape[:-1] != (len(self.claims),) * 2:
            return False
        claims = np.array(self.claims)
        own, other = (claims[:, None], claims[None, :]) if seat == 0 else (claims[None, :], claims[:, None])
        paid = np.minimum(own, other) + self.bonus * np.sign(other - own)
        return bool(np.allclose(paid, payoffs[..., seat], rtol=0, atol=NEAR * max(1.0, float(np.abs(payoffs).max()))))
