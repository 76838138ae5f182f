"""A shipped scenario as a game with a story."""

from typing import Any

from ostrom.games.game import Game
from ostrom.games.scenarios.reader import families, shipped_scenario
from ostrom.ground.errors import GameError


def build(scenario: Any = "commons/water_crisis") -> Game:
    """A story coupled to a payoff table, with roles, personas and what every action means.

    ``scenario`` is FAMILY/NAME of a shipped one; an own one is a game file like any other.

    >>> build("data-alliance/genome_bank").roles
    ('hospital', 'insurer', 'regulator', 'patient')
    """
    family, slash, name = str(scenario).partition("/")
    if not slash:
        raise GameError(f"game scenario: write FAMILY/NAME (found {scenario!r}; families: {', '.join(families())})")
    return shipped_scenario(family, name).game()


GAME = build
