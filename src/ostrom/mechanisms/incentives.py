"""Incentives of a game: equilibria, weakly dominant actions, and the game of many rounds.

Made for games that a mechanism induces; gains up to a tolerance count as none (Tewolde et al. 2026: 1e-9).
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame, table_of

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
    import numpy as np

    paid = np.moveaxis(game.payoffs[..., seat], seat, 0).reshape(len(game.actions[seat]), -1)
    gains = [paid[action] - row for other, row in enumerate(paid) if other != action]
    return all(float(gain.min()) >= -tolerance and float(gain.max()) > tolerance for gain in gains)


def lasting_game(game: Game, continuation: float | None) -> Game | None:
    """Return the game between strategies for many rounds, by mean payoff.

    The cooperative action stands for: cooperate as long as all have, then never again. Every other action stands
    for: take it once, then defect. With chance d of another round a profile pays (1 - d) of its own payoffs and d of
    those of mutual defection, unless all cooperate, which lasts (Blonski and Spagnolo 2015). With chance 0 the game
    stays as it is. None if a seat has no cooperative or defective action, or the chance is unknown (None).

    >>> from ostrom.games import build_game
    >>> made = lasting_game(build_game("prisoners_dilemma:coopeval"), 0.8)
    >>> made.payoff((0, 0)), made.payoff((1, 0))
    ((2.0, 2.0), (1.4, 0.8))
    """
    good = tuple(action for action in game.cooperative if action is not None)
    bad = tuple(action for action in game.defective if action is not None)
    if len(good) < game.seats or len(bad) < game.seats or continuation is None:
        return None

    def paid(profile: tuple[int, ...]) -> Sequence[float]:
        if profile == good:
            return game.payoff(good)
        both = zip(game.payoff(profile), game.payoff(bad), strict=True)
        return [round((1 - continuation) * once + continuation * then, 10) for once, then in both]

    return game_with(game, "lasting", paid)


def game_with(game: Game, name: str, paid: Callable[[tuple[int, ...]], Any], added: tuple[str, ...] = ()) -> TensorGame:
    """Return the game with these payoffs by profile and, for every seat, added actions; the name is appended."""
    import numpy as np

    actions = tuple((*names, *added) for names in table_of(game).actions)
    payoffs = np.empty((*map(len, actions), game.seats))
    for profile in product(*(range(len(names)) for names in actions)):
        payoffs[profile] = paid(profile)
    return TensorGame(f"{game.name}_{name}", actions, payoffs, game.cooperative, game.defective, game.roles, game.title)
