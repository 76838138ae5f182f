"""What a calculating player expects: dominated actions are not played, and nothing else is known."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ostrom.games.equilibria import iterated_elimination
from ostrom.games.game import Game


@lru_cache(maxsize=4096)
def rational_payoffs(game: Game) -> tuple[float, ...]:
    """What every seat expects to be paid when all reason alike.

    Weakly dominated actions go, again and again; then everybody answers others who play what is left with
    equal chance. Among equally good actions the cooperative one is played, or else the first listed.

    >>> from ostrom.games import build_game
    >>> rational_payoffs(build_game("prisoners_dilemma:coopeval")), rational_payoffs(build_game("trust"))
    ((1.0, 1.0), (4.0, 4.0))
    """
    left = iterated_elimination(game, weak=True).surviving
    odds = [
        np.array([float(a in rest) / len(rest) for a in range(len(names))])
        for names, rest in zip(game.actions, left, strict=True)
    ]
    profile = []
    for seat, rest in enumerate(left):
        value = game.payoffs[..., seat]
        for other in reversed(range(game.seats)):
            if other != seat:
                value = np.tensordot(value, odds[other], axes=(other, 0))
        top = max(float(value[a]) for a in rest)
        best = [a for a in rest if float(value[a]) >= top - 1e-9 * max(1.0, abs(top))]
        good = game.cooperative[seat]
        profile.append(good if good is not None and good in best else best[0])
    return game.payoff(profile)
