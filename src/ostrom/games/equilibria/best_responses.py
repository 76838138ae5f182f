"""Best responses: what pays a seat most, given what the others do. Ties are all named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostrom.games.equilibria.ties import tie_width
from ostrom.games.game import Game
from ostrom.ground.errors import GameError


def best_responses(game: Game, seat: int, others: Sequence[int]) -> tuple[int, ...]:
    """The actions that pay a seat most against the others' actions (in seat order, the own seat left out).

    >>> from ostrom.games import games
    >>> build = games.get("prisoners_dilemma")
    >>> best_responses(build(), 0, (0,))
    (1,)
    """
    if not 0 <= seat < game.seats or len(others) != game.seats - 1:
        raise GameError(
            f"game {game.name}: best_responses needs a seat below {game.seats} and all the others' actions"
        )
    at: tuple[Any, ...] = (*others[:seat], slice(None), *others[seat:], seat)
    paid = game.payoffs[at]
    return tuple(int(i) for i in np.flatnonzero(paid >= paid.max() - tie_width(game.payoffs)))


def best_response_masks(game: Game) -> list[NDArray[np.bool_]]:
    """For each seat, at which profiles its action is a best response to the others'."""
    width = tie_width(game.payoffs)
    paid = [game.payoffs[..., seat] for seat in range(game.seats)]
    return [p >= p.max(axis=seat, keepdims=True) - width for seat, p in enumerate(paid)]
