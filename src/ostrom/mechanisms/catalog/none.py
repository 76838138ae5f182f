"""No mechanism: the game is played once."""

from collections import Counter
from typing import ClassVar

from ostrom.games.game import Game
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism, payoff_range
from ostrom.mechanisms.protocol import EMPTY, Outcome, Play
from ostrom.mechanisms.rounds import Rounds


class NoMechanism(Mechanism):
    """One play of the game; the score is the payoff."""

    name: ClassVar[str] = "none"
    one_shot: ClassVar[bool] = True
    may_miss: ClassVar[bool] = True
    any_game: ClassVar[bool] = True

    def play(self, game: Game, streams: Streams) -> Play:
        """Play one round of the game."""
        rounds = Rounds(game, self.name, streams, missing=self.missing, exact=True)
        played = yield from rounds.play(1, EMPTY, None)
        facts = self.missing.ending_facts(Counter(), played.missed) if self.missing is not None else {}
        if rounds.over is not None:
            facts = {**facts, "over": rounds.over, "over_round": 1}
        return Outcome([played], played.payoffs, {**facts, **rounds.hidden_facts()})

    def score_range(self, game: Game) -> tuple[float, float] | None:
        """The range of the game's payoffs."""
        return payoff_range(game) if self.missing is None else None

    def most_decisions(self, game: Game) -> int:
        """The number of decisions of one round."""
        return game.turns


MECHANISM = NoMechanism
