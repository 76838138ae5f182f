"""No mechanism: the game is played once."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from ostrom.games.function import FunctionGame
from ostrom.games.game import Game
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism, act, expected_payoffs, profile_of
from ostrom.mechanisms.missing import missed_by, missing_of, void_round
from ostrom.mechanisms.protocol import EMPTY, Outcome, Play, Round, View
from ostrom.mechanisms.rounds import hidden_facts, play_round


class NoMechanism(Mechanism):
    """One simultaneous play; the score is the payoff.

    ``missed`` says what follows where somebody does not answer in time (``Missing``).
    """

    name: ClassVar[str] = "none"
    one_shot: ClassVar[bool] = True
    may_miss: ClassVar[bool] = True
    any_game: ClassVar[bool] = True

    def __init__(self, missed: str | None = None) -> None:
        self.missing = missing_of(missed)

    def play(self, game: Game, streams: Streams) -> Play:
        """Ask every seat once, or as the game says."""
        if isinstance(game, FunctionGame):
            return (yield from self._rule(game, streams))
        answers = yield [act(View(game, seat, self.name)) for seat in range(game.seats)]
        late, missing = missed_by(answers), self.missing
        if missing is not None and late:
            facts = missing.ends(Counter(), late)
            if missing.voids:
                return Outcome([round_ := void_round(game, 1, late)], round_.payoffs, facts)
            profile = profile_of(game, missing.filled(answers))
            return Outcome(
                [Round(1, profile, game.payoff(profile), missed=late)], game.payoff(profile), facts
            )
        profile = profile_of(game, answers)
        payoffs = game.payoff(profile)
        return Outcome([Round(1, profile, payoffs, expected=expected_payoffs(game, answers))], payoffs)

    def _rule(self, game: FunctionGame, streams: Streams) -> Play:
        """One round of a game that says itself who decides when."""
        round_, end = yield from play_round(game, self.name, 1, EMPTY, {}, streams, self.missing)
        facts = self.missing.ends(Counter(), round_.missed) if self.missing is not None else {}
        if end is not None and end.over is not None:
            facts = {**facts, "over": end.over, "over_round": 1}
        return Outcome([round_], round_.payoffs, {**facts, **hidden_facts([end])})

    def most_decisions(self, game: Game) -> int:
        """One decision per seat, or as many as the game has turns."""
        return game.turns if isinstance(game, FunctionGame) else game.seats


MECHANISM = NoMechanism
