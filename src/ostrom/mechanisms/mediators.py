"""Mediators: a plan that plays for whoever delegates, and the game that it makes of a game.

A mediator is a list of action indices: the k-th entry is played for every delegator when k players delegate
(Monderer and Tennenholtz 2009; Tewolde et al. 2026).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np

from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame

DELEGATE = "delegate"


def realised(game: Game, mediator: Sequence[int], profile: Sequence[int]) -> tuple[int, ...]:
    """The actions that are played when the index after a seat's last action means delegating.

    >>> from ostrom.games import build_game
    >>> pd = build_game("prisoners_dilemma")
    >>> realised(pd, [1, 0], (2, 0)), realised(pd, [1, 0], (2, 2))
    ((1, 0), (0, 0))
    """
    delegates = [action == len(game.actions[seat]) for seat, action in enumerate(profile)]
    common = mediator[sum(delegates) - 1] if any(delegates) else 0
    return tuple(common if gone else action for gone, action in zip(delegates, profile, strict=True))


def mediated_game(game: Game, mediator: Sequence[int]) -> Game:
    """The game with one more action for every seat, delegating, under a mediator.

    >>> from ostrom.games import build_game
    >>> mediated = mediated_game(build_game("prisoners_dilemma:coopeval"), [1, 0])
    >>> mediated.payoff((2, 2)), mediated.payoff((2, 0))
    ((2.0, 2.0), (3.0, 0.0))
    """
    return _mediated(game, tuple(mediator))


@lru_cache(maxsize=1024)
def _mediated(game: Game, mediator: tuple[int, ...]) -> Game:
    actions = tuple((*names, DELEGATE) for names in game.actions)
    payoffs = np.empty((*(len(names) for names in actions), game.seats))
    for profile in product(*(range(len(names)) for names in actions)):
        payoffs[profile] = game.payoff(realised(game, mediator, profile))
    return TensorGame(
        f"{game.name}_mediated", actions, payoffs, game.cooperative, game.defective, game.roles, game.title
    )
