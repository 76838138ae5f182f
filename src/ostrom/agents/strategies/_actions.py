"""Which action a parameter means, and which one suits whom."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ostrom.agents.past import Past
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError


def action_index(game: Game, seat: int, action: str | float, strategy: str) -> int:
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


def at_stage(given: Mapping[str, Any], past: Past, strategy: str) -> Any:
    """What a parameter that is given by stage says for the stage that is asked for.

    It may name stages of the study's other games too.
    """
    stage = past.view.facts.get("stage", "")
    if stage not in given:
        raise StudyError(
            f"strategy {strategy}: has no action for the stage {stage!r} of game {past.game.name}",
            found=dict(given),
        )
    return given[stage]


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
