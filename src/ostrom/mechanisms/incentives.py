"""What a game makes worthwhile: whether a profile is an equilibrium, whether an action is weakly dominant.

Made for games that a mechanism induces; gains up to a tolerance count as none (Tewolde et al. 2026: 1e-9).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ostrom.games.game import Game

TOLERANCE = 1e-9


def is_equilibrium(game: Game, profile: Sequence[int], tolerance: float = TOLERANCE) -> bool:
    """Whether nobody gains more than the tolerance by leaving the profile alone (Nash 1951).

    >>> from ostrom.games import build_game
    >>> pd = build_game("prisoners_dilemma")
    >>> is_equilibrium(pd, (0, 0)), is_equilibrium(pd, (1, 1))
    (False, True)
    """
    for seat in range(game.seats):
        at: tuple[Any, ...] = (*profile[:seat], slice(None), *profile[seat + 1 :], seat)
        paid = game.payoffs[at]
        if float(paid.max()) > float(paid[profile[seat]]) + tolerance:
            return False
    return True


def is_weakly_dominant(game: Game, seat: int, action: int, tolerance: float = TOLERANCE) -> bool:
    """Whether an action never pays less than any other and, against each of them, sometimes more.

    >>> from ostrom.games import build_game
    >>> is_weakly_dominant(build_game("prisoners_dilemma"), 0, 1)
    True
    """
    paid = np.moveaxis(game.payoffs[..., seat], seat, 0).reshape(len(game.actions[seat]), -1)
    for other in range(len(paid)):
        gain = paid[action] - paid[other]
        if other != action and (float(gain.min()) < -tolerance or float(gain.max()) <= tolerance):
            return False
    return True
