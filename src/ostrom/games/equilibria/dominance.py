"""Dominance between pure actions, and what is left when dominated actions go.

Domination by a mixture of actions is not looked at; for seats with two actions it adds nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostrom.games.equilibria.best_responses import tie_width
from ostrom.games.game import Game


@dataclass(frozen=True)
class Dominated:
    """An action that another one beats: always (strict), or sometimes and never the reverse (weak)."""

    seat: int
    action: int
    by: int
    strict: bool


@dataclass(frozen=True)
class Elimination:
    """What iterated elimination leaves for each seat, and what each pass removed."""

    surviving: tuple[tuple[int, ...], ...]
    passes: tuple[tuple[Dominated, ...], ...]

    @property
    def solved(self) -> bool:
        """Whether a single profile is left."""
        return all(len(actions) == 1 for actions in self.surviving)


def dominated_actions(game: Game) -> tuple[Dominated, ...]:
    """Every pair of actions of which one dominates the other, strictly or weakly.

    >>> from ostrom.games import games
    >>> build = games.get("prisoners_dilemma")
    >>> dominated_actions(build())[0]
    Dominated(seat=0, action=0, by=1, strict=True)
    """
    everything = tuple(tuple(range(len(names))) for names in game.actions)
    return _dominated(game, everything)


def dominant_action(game: Game, seat: int) -> tuple[int, bool] | None:
    """The action that dominates all others of a seat and whether strictly so; None when there is none."""
    pairs = [d for d in dominated_actions(game) if d.seat == seat]
    for action in range(len(game.actions[seat])):
        beaten = {d.action: d.strict for d in pairs if d.by == action}
        if beaten and len(beaten) == len(game.actions[seat]) - 1:
            return action, all(beaten.values())
    return None


def iterated_elimination(game: Game, *, weak: bool = False) -> Elimination:
    """Remove all dominated actions of all seats at once, again and again, until none is left.

    Strict elimination ends the same in any order. Weak elimination does not: removing everything at once, as
    here, is one order among several, so its result is a statement about this order only.
    """
    left = tuple(tuple(range(len(names))) for names in game.actions)
    passes: list[tuple[Dominated, ...]] = []
    while True:
        found = tuple(d for d in _dominated(game, left) if weak or d.strict)
        first = tuple({(d.seat, d.action): d for d in reversed(found)}.values())[::-1]
        if not first:
            return Elimination(left, tuple(passes))
        gone = {(d.seat, d.action) for d in first}
        left = tuple(tuple(a for a in actions if (seat, a) not in gone) for seat, actions in enumerate(left))
        passes.append(first)


def _dominated(game: Game, left: tuple[tuple[int, ...], ...]) -> tuple[Dominated, ...]:
    width = tie_width(game.payoffs)
    block = game.payoffs[np.ix_(*left)]
    found = []
    for seat, actions in enumerate(left):
        # One row per action of this seat, one column per profile of the others.
        paid: NDArray[np.float64] = np.moveaxis(block[..., seat], seat, 0).reshape(len(actions), -1)
        for i, action in enumerate(actions):
            for j, by in enumerate(actions):
                gain = paid[j] - paid[i]
                if i != j and bool((gain >= -width).all()) and bool((gain > width).any()):
                    found.append(Dominated(seat, action, by, bool((gain > width).all())))
    return tuple(found)
