"""No mechanism: the game is played once."""

from __future__ import annotations

from typing import ClassVar

from ostrom.games.game import Game
from ostrom.mechanisms.base import Mechanism, act, expected_payoffs, profile_of
from ostrom.mechanisms.protocol import Outcome, Play, Round, View
from ostrom.streams import Streams


class NoMechanism(Mechanism):
    """One simultaneous play; the score is the payoff."""

    name: ClassVar[str] = "none"
    one_shot: ClassVar[bool] = True

    def play(self, game: Game, streams: Streams) -> Play:  # noqa: ARG002
        """Ask every seat once."""
        answers = yield [act(View(game, seat, self.name)) for seat in range(game.seats)]
        profile = profile_of(game, answers)
        payoffs = game.payoff(profile)
        return Outcome([Round(1, profile, payoffs, expected=expected_payoffs(game, answers))], payoffs)

    def most_decisions(self, game: Game) -> int:
        """One decision per seat."""
        return game.seats


MECHANISM = NoMechanism
