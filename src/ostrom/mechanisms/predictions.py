"""Predictions around any mechanism with seats: ``mechanism: {name: ..., predict: players}`` (Akata et al. 2025)."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from ostrom.answers import Answer
from ostrom.games.game import Game
from ostrom.games.steps import steps_of
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Ge, InWords, checked
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Around, Asked, Mechanism, relay
from ostrom.mechanisms.protocol import Decision, Play, View
from ostrom.mechanisms.rounds import form_of

Predictors = Annotated[Literal["players", "observer"] | None, InWords("players, observer or null")]
Watched = Annotated[Annotated[int, Ge(1)] | None, InWords("the number of a seat")]


class Predicted(Around):
    """The same rules, with predictions of what seats are about to do: nobody is told one, and no history holds one.

    ``predict: players`` lets each seat predict the others, ``observer`` adds a player who has no seat and predicts all
    seats, or only the one that is ``watched``. In a game with a table everybody predicts everybody before the first
    action of a round. In a game without one, those who decide at the same time predict each other, and an observer
    predicts each of them from what that player is told.
    """

    @checked
    def __init__(self, rules: Mechanism, predict: Predictors, watched: Watched = None) -> None:
        if watched is not None and predict != "observer":
            raise ValueError("only an observer has a watched seat: set predict to observer")
        if rules.society:
            raise ValueError("predict goes with rules that give every player a seat, not with a society")
        super().__init__(rules)
        self.predict, self.watched = predict, watched
        self.observers = rules.observers + (predict == "observer")

    def check(self, game: Game) -> None:
        """An observer can only watch a seat that is there, a player only predict others."""
        super().check(game)
        if self.watched is not None and self.watched > game.seats:
            raise GameError(f"watched seat {self.watched}: game {game.name} has {game.seats} seats")
        if self.predict == "players" and game.seats < 2:
            raise GameError(f"game {game.name} has one seat: there is nobody to predict")
        if self.predict == "players" and not any(len(step) > 1 for step in steps_of(game)):
            raise GameError(
                f"predict: players is about those who decide at the same time, and in game {game.name} nobody does"
            )

    def play(self, game: Game, streams: Streams) -> Play:
        """Let the rules ask; predictions come before the actions that they are about."""
        reached = 0

        def ask(due: list[Decision]) -> Asked:
            nonlocal reached
            first = due[0]
            if first.kind == "act" and (not game.has_table or first.view.round > reached):
                reached = first.view.round
                yield from self._predictions(game, due)
            return (yield due)

        return relay(self.rules.play(game, streams), ask)

    def _predictions(
        self, game: Game, due: Sequence[Decision]
    ) -> Generator[list[Decision], Sequence[Answer], None]:
        """One target at a time, asked of all who predict at once."""
        acting = list(due)
        if game.has_table and len(due) < game.seats:
            by_seat = {decision.view.seat: decision for decision in due}
            acting = [
                by_seat.get(seat)
                or replace(due[0], player=seat, view=self.rules.bystander(due[0].view, seat))
                for seat in range(game.seats)
            ]
        if self.predict == "players":
            for distance in range(1, len(acting)):
                yield [
                    self._prediction(own, acting[(place + distance) % len(acting)])
                    for place, own in enumerate(acting)
                ]
            return
        observer = game.seats + self.rules.observers
        for target in acting:
            if self.watched is None or target.view.seat == self.watched - 1:
                yield [self._prediction(target, target, observer)]

    def _prediction(self, own: Decision, target: Decision, observer: int | None = None) -> Decision:
        """The question about a target: of a player from its own view, of an observer from that of the target."""
        game, seat = own.view.game, target.view.seat
        facts = {**own.view.facts, "target": seat}
        if observer is not None:
            facts["observer"] = True
            if self.watched is not None:
                facts["watched"] = seat
        if not game.has_table:
            facts["target_stage"] = target.view.facts["stage"]
        form = form_of(game.actions[seat]) if game.has_table else target.form
        seen = own.view
        view = View(game, seen.seat, seen.mechanism, seen.round, seen.history, facts, seen.names)
        return Decision(own.player if observer is None else observer, "predict", view, form, own.agent)

    def decisions_of(self, game: Game, player: int, players: int) -> int:
        """Those of the rules, and the predictions of whoever makes any."""
        asked = super().decisions_of(game, player, players)
        if self.predict == "players":
            # Every act meets at most all others, of which a game with a table has one per round.
            acts = self.most_rounds(game) if game.has_table else asked
            return asked + (0 if player >= game.seats else acts * (game.seats - 1))
        if player < players - 1:
            return asked
        if self.watched is not None and game.has_table:
            return self.most_rounds(game)
        return self.most_rounds(game) * game.turns
