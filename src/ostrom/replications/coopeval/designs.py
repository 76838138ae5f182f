"""How good the designs of a run are: does a mediator or a contract make cooperation stable?

Two questions per design, asked of the game that it induces, with gains up to 1e-9 counted as none (Tewolde
et al. 2026): is everybody cooperating a Nash equilibrium (under a mediator also: everybody delegating to one
that then cooperates for all), and is the cooperative action (under a mediator: delegating) weakly dominant
for every seat? Designs that a policy put in place of unreadable ones are judged too, and marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostrom.games.game import Game
from ostrom.mechanisms.designs import Designed
from ostrom.mechanisms.incentives import TOLERANCE, is_equilibrium, is_weakly_dominant


@dataclass(frozen=True, slots=True)
class Quality:
    """What a design does to a game."""

    equilibrium: bool
    """Everybody cooperating is a Nash equilibrium."""
    dominant: bool
    """The cooperative action (under a mediator: delegating) is weakly dominant for every seat."""


def quality(rules: Designed, game: Game, design: Sequence[int], tolerance: float = TOLERANCE) -> Quality:
    """Judge one design in one game; without cooperative actions nothing can be good.

    >>> from ostrom.games import build_game
    >>> from ostrom.mechanisms.catalog.mediation import Mediation
    >>> quality(Mediation(), build_game("prisoners_dilemma"), [1, 0])
    Quality(equilibrium=True, dominant=True)
    >>> quality(Mediation(), build_game("prisoners_dilemma"), [0, 0])
    Quality(equilibrium=False, dominant=False)
    """
    profiles = rules.cooperation(game, design)
    if not profiles:
        return Quality(False, False)
    induced = rules.induced(game, design)
    pivotal = tuple(rules.pivotal(game, seat) for seat in range(game.seats))
    return Quality(
        any(is_equilibrium(induced, profile, tolerance) for profile in profiles),
        all(is_weakly_dominant(induced, seat, action, tolerance) for seat, action in enumerate(pivotal)),
    )
