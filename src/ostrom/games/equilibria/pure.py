"""Pure Nash equilibria (Nash 1951), each marked strict or weak."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ostrom.games.equilibria.best_responses import best_response_masks
from ostrom.games.game import Game, Profile


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
