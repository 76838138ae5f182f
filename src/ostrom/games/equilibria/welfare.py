"""What is good for the group: the Pareto frontier and the social optimum. Ties are all named."""

from dataclasses import dataclass

import numpy as np

from ostrom.games.equilibria.best_responses import tie_width
from ostrom.games.game import Game, Profile


@dataclass(frozen=True)
class SocialOptimum:
    """The largest sum of payoffs and every profile that reaches it."""

    total: float
    profiles: tuple[Profile, ...]


def social_optimum(game: Game) -> SocialOptimum:
    """All profiles with the largest sum of payoffs.

    >>> from ostrom.games import games
    >>> build = games.get("prisoners_dilemma")
    >>> social_optimum(build("coopeval"))
    SocialOptimum(total=4.0, profiles=((0, 0),))
    """
    totals = game.payoffs.sum(axis=-1)
    best = totals >= totals.max() - game.seats * tie_width(game.payoffs)
    return SocialOptimum(float(totals.max()), tuple(tuple(int(i) for i in at) for at in np.argwhere(best)))


def pareto_frontier(game: Game) -> tuple[Profile, ...]:
    """Profiles that no other profile improves for somebody without harming anybody.

    >>> from ostrom.games import games
    >>> build = games.get("prisoners_dilemma")
    >>> pareto_frontier(build())
    ((0, 0), (0, 1), (1, 0))
    """
    width = tie_width(game.payoffs)
    # Profiles of equal payoffs stand or fall together. Time is quadratic in the number of distinct payoff
    # vectors.
    vectors, where = np.unique(game.payoffs.reshape(-1, game.seats), axis=0, return_inverse=True)
    kept = np.array(
        [not bool(((vectors >= v - width).all(axis=1) & (vectors > v + width).any(axis=1)).any()) for v in vectors]
    )
    mask = kept[where.reshape(-1)]
    return tuple(profile for profile, keep in zip(game.profiles(), mask, strict=True) if keep)
