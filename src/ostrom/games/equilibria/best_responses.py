"""Best responses: what pays a seat most, given what the others do. Ties are all named."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostrom.games.game import Game, Profile
from ostrom.ground.errors import GameError


def best_responses(game: Game, seat: int, others: Sequence[int]) -> tuple[int, ...]:
    """The actions that pay a seat most against the others' actions (in seat order, the own seat left out).

    >>> from ostrom.games import games
    >>> build = games.get("prisoners_dilemma")
    >>> best_responses(build(), 0, (0,))
    (1,)
    """
    if not 0 <= seat < game.seats or len(others) != game.seats - 1:
        raise GameError(f"game {game.name}: best_responses needs a seat below {game.seats} and all the others' actions")
    at: tuple[Any, ...] = (*others[:seat], slice(None), *others[seat:], seat)
    paid = game.payoffs[at]
    return tuple(int(i) for i in np.flatnonzero(paid >= paid.max() - tie_width(game.payoffs)))


def best_response_masks(game: Game) -> list[NDArray[np.bool_]]:
    """For each seat, at which profiles its action is a best response to the others'."""
    width = tie_width(game.payoffs)
    paid = [game.payoffs[..., seat] for seat in range(game.seats)]
    return [p >= p.max(axis=seat, keepdims=True) - width for seat, p in enumerate(paid)]


RELATIVE = 1e-12


def tie_width(payoffs: NDArray[np.float64]) -> float:
    """Differences up to this count as ties: 1e-12 of the largest payoff in absolute value.

    >>> import numpy as np
    >>> bool(abs((0.1 + 0.2) - 0.3) <= tie_width(np.array([0.3, 1.0])))
    True
    """
    return RELATIVE * float(np.abs(payoffs).max())


@dataclass(frozen=True)
class PureEquilibrium:
    """A profile from which nobody gains by leaving alone."""

    profile: Profile
    payoffs: tuple[float, ...]
    strict: bool
    """True when everybody would lose by leaving; False when somebody is indifferent (a tie)."""


def pure_equilibria(game: Game) -> tuple[PureEquilibrium, ...]:
    """All pure Nash equilibria, in profile order.

    >>> from ostrom.games import games
    >>> build = games.get("stag_hunt")
    >>> [(e.profile, e.strict) for e in pure_equilibria(build())]
    [((0, 0), True), ((1, 1), True)]
    """
    masks = best_response_masks(game)
    stable = np.logical_and.reduce(masks)
    alone = stable.copy()
    for seat, mask in enumerate(masks):
        alone &= mask.sum(axis=seat, keepdims=True) == 1
    return tuple(
        PureEquilibrium(profile, game.payoff(profile), bool(alone[profile]))
        for profile in (tuple(int(i) for i in index) for index in np.argwhere(stable))
    )
