"""Which matches have no sampling error: played again with another seed they would go the same way."""

from collections.abc import Callable
from typing import Any, NoReturn

from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.engine.plan import Unit
from ostrom.ground.errors import OstromError, UsageError
from ostrom.memory import memories


class Determinism:
    """Asks of the matches of a run whether chance has a part in them.

    A match is deterministic if all its players are scripted and playing it through draws nothing at all: no
    move, no memory, no noise, no length. That is tried once for all matches that differ in their seed alone.
    """

    def __init__(self, unit_of: Callable[[int], Unit]) -> None:
        self.unit_of = unit_of
        self._known: dict[str, bool] = {}

    def __call__(self, match: int) -> bool:
        try:
            unit = self.unit_of(match)
        except UsageError:  # tables without a study
            return False
        if unit.key not in self._known:
            self._known[unit.key] = plays_without_chance(unit)
        return self._known[unit.key]


class ChanceUsed(Exception):
    """Something was drawn."""


class _NoChance:
    """Streams, and a place to answer at, from which nothing can be drawn."""

    step = player = since = 0
    origin = None

    def _drawn(self, *_: Any, **__: Any) -> NoReturn:
        raise ChanceUsed

    at = chance = about = root = draw = _drawn


def plays_without_chance(unit: Unit) -> bool:
    """Play a unit through with everything random forbidden.

    Matches that need designs made before them count as random, as do those that cannot be played here.
    """
    if unit.needs or any(player.config.strategy is None for player in unit.players):
        return False
    nothing: Any = _NoChance()
    try:
        agents = [
            ScriptedAgent(
                strategies.build(player.config.strategy or ""),
                None if player.config.memory == "full" else memories.build(player.config.memory),
            )
            for player in unit.players
        ]
        play = unit.mechanism.play(unit.game, nothing)
        decisions = next(play)
        while True:
            decisions = play.send([agents[d.player].reply(d, nothing) for d in decisions])
    except StopIteration:
        return True
    except (ChanceUsed, OstromError):
        return False
