"""Which action a parameter means, and which one suits whom."""

from __future__ import annotations

from functools import lru_cache

from ostrom.errors import StudyError
from ostrom.games.game import Game


def action_index(game: Game, seat: int, action: str | int, strategy: str) -> int:
    """The action of that name or, where no action has that name, of that index (from 0)."""
    names = game.actions[seat]
    if str(action) in names:
        return names.index(str(action))
    if isinstance(action, int) and 0 <= action < len(names):
        return action
    raise StudyError(
        f"strategy {strategy}: seat {seat + 1} of game {game.name} has no such action",
        found=action,
        allowed=names,
    )


def favourite(game: Game, seat: int, beneficiary: int) -> int:
    """The action of ``seat`` in the outcome that pays ``beneficiary`` most; the first listed among equals."""
    best = max(game.profiles(), key=lambda profile: game.payoff(profile)[beneficiary])
    return best[seat]


def pure(game: Game, seat: int, action: int) -> tuple[float, ...]:
    """The odds of playing one action for certain."""
    return _certain(len(game.actions[seat]), action)


@lru_cache(maxsize=1024)
def _certain(count: int, action: int) -> tuple[float, ...]:
    return tuple(float(i == action) for i in range(count))
