"""Cheap talk: one public message each before play (Farrell and Rabin 1996)."""

from dataclasses import replace
from typing import Annotated, Any, ClassVar

from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Count, Ge, Le, checked
from ostrom.mechanisms.base import TwoStepRounds, act, expected_payoffs, profile_of
from ostrom.mechanisms.missing import missed_by, void_round
from ostrom.mechanisms.protocol import History, Round, RoundPlay, View
from ostrom.mechanisms.talk import Speaker, Talk, conversation


class CheapTalk(TwoStepRounds):
    """Everybody sends a message at the same time, reads all of them, then acts: ``Talk`` before plain repetition.

    ``length`` bounds a message in characters. With more than one of ``rounds`` the players are told their
    number, talk before every round, and the score is the mean payoff; messages are read in their own round.
    Where missed decisions have a default action, a missed message is an empty one.
    """

    name: ClassVar[str] = "cheap_talk"
    may_miss: ClassVar[bool] = True
    listed: ClassVar[str] = "messages"

    @checked
    def __init__(self, rounds: Count = 1, length: Annotated[int, Ge(1), Le(4000)] = 280) -> None:
        self.rounds, self.length, self.talk = rounds, length, Talk(length=length)
        self.told: dict[str, Any] = {"length": length}
        if rounds > 1:
            self.told |= {"repeated": True, "rounds": rounds}

    def fit(self, game: Game) -> None:
        """Refuse a game without a payoff table, and say how to declare the same messages for it."""
        try:
            super().fit(game)
        except GameError as error:
            if game.has_table:
                raise
            rules = "none" if self.rounds == 1 else f"repetition, rounds: {self.rounds}, told_rounds: true"
            talk = f"talk: {{when: before, length: {self.length}}}"
            raise GameError(f"{error}; the same there: mechanism: {{name: {rules}, {talk}}}") from None

    def induced_game(self, game: Game) -> Game | None:
        """Return the game itself: messages are not binding."""
        return game

    def play_round(self, game: Game, number: int, history: History) -> RoundPlay:
        """Talk, then act."""
        missing = self.missing
        views = [View(game, seat, self.name, number, history, self.told) for seat in range(game.seats)]
        transcript, late = yield from conversation(
            self.talk, [Speaker(view.seat, view, {}) for view in views], lambda speaker, _: speaker.view
        )
        messages = [message["text"] for message in transcript]
        if missing is None or not late or not missing.voids:
            facts = {**self.told, "messages": messages}
            answers = yield [act(replace(view, facts=facts)) for view in views]
            late = tuple(sorted({*late, *missed_by(answers)}))
        if missing is not None and late and missing.voids:
            return void_round(game, number, late, facts={"messages": messages})
        if missing is not None:
            answers = missing.filled(answers)
        played = profile_of(game, answers)
        return Round(
            number,
            played,
            game.payoff(played),
            expected=expected_payoffs(game, answers) if self.rounds == 1 else None,
            facts={"messages": messages},
            missed=late,
        )


MECHANISM = CheapTalk
