"""The profiles of a game by the names of the actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ostrom.games.game import Game


class Named(dict[str, Any]):
    """What the actions of one seat lead to: those of the next seat, and after the last seat the profile.

    Named actions become a profile in every turn of every match: following them from seat to seat takes a
    third of the time of making a tuple of their indices. A branch is made when it is first asked for.

    >>> from ostrom.games import build_game
    >>> Named(build_game("prisoners_dilemma"))["cooperate"]["defect"]
    (0, 1)
    """

    def __init__(self, game: Game, before: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.game, self.before = game, before

    def __missing__(self, action: str) -> Any:
        profile = (*self.before, self.game.index(len(self.before), action))
        last = len(profile) == self.game.seats
        self[action] = found = profile if last else Named(self.game, profile)
        return found
