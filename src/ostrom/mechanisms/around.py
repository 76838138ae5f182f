"""Rules around rules: the same mechanism with something added to what it asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

from ostrom.games.game import Game
from ostrom.mechanisms.base import Mechanism
from ostrom.mechanisms.missing import Missing
from ostrom.mechanisms.protocol import View


class Around(Mechanism):
    """A mechanism that leaves everything to the ``rules`` inside but what a subclass adds.

    What the rules alone have (``rounds``, ``noise``, ``window``) is read through it, as tables and charts ask for it.
    """

    def __init__(self, rules: Mechanism) -> None:
        self.rules = rules
        self.name, self.one_shot = rules.name, rules.one_shot  # type: ignore[misc]
        self.society, self.may_miss = rules.society, rules.may_miss  # type: ignore[misc]
        self.any_game, self.may_talk = rules.any_game, rules.may_talk  # type: ignore[misc]
        self.observers, self.spreads = rules.observers, rules.spreads
        self.missing = rules.missing

    def __getattr__(self, name: str) -> Any:
        if name == "rules" or name.startswith("__"):  # not there yet while a copy is made
            raise AttributeError(name)
        return getattr(self.rules, name)

    def around(self, rules: Mechanism) -> Self:
        """The same addition to other rules."""
        changed = copy(self)
        changed.rules, changed.missing = rules, rules.missing
        return changed

    def allowing(self, missing: Missing) -> Mechanism:
        """With a rule for missed decisions."""
        return self.around(self.rules.allowing(missing))

    def population(self, names: Sequence[str], seats: int) -> Sequence[str]:
        """As the rules say."""
        return self.rules.population(names, seats)

    def sized(self, players: int) -> Mechanism:
        """For so many players."""
        return self.around(self.rules.sized(players))

    def given(self, outcomes: Sequence[Mapping[str, Any]]) -> Mechanism:
        """With what the players have prepared."""
        return self.around(self.rules.given(outcomes))

    def check(self, game: Game) -> None:
        """As the rules say."""
        self.rules.check(game)

    def preparation(self, game: Game, seat: int) -> Mechanism | None:
        """As the rules say: whoever prepares is alone."""
        return self.rules.preparation(game, seat)

    def bystander(self, view: View, seat: int) -> View:
        """As the rules say."""
        return self.rules.bystander(view, seat)

    def most_rounds(self, game: Game) -> int:
        """As the rules say."""
        return self.rules.most_rounds(game)

    def longest_history(self, game: Game) -> int:
        """As the rules say."""
        return self.rules.longest_history(game)

    def decisions_of(self, game: Game, player: int, players: int) -> int:
        """Those of the rules, which know nothing of observers that are added."""
        added = self.observers - self.rules.observers
        if player >= players - added:
            return 0
        return self.rules.decisions_of(game, player, players - added)

    def most_decisions(self, game: Game) -> int:
        """Those of all players together."""
        players = self.members(game) + self.observers
        return sum(self.decisions_of(game, player, players) for player in range(players))

    def members(self, game: Game) -> int:
        """How many players take part: one per seat, or those of a society."""
        return getattr(self.rules, "players", None) or game.seats
