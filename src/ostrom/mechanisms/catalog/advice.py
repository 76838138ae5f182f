"""Advice: advisers recommend, clients act (after the folk theorem for populations that language models guide).

A seat has two people: a client, who plays, and an adviser, who sees what the client sees and recommends an action.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from ostrom.answers import Answer
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Count, PositiveShare, Share, checked
from ostrom.mechanisms.base import TwoStepRounds, act, choice_of, profile_of
from ostrom.mechanisms.protocol import Decision, History, Round, RoundPlay, View

Advice = Generator[list[Decision], Sequence[Answer], list[int]]


class Advised(TwoStepRounds):
    """Before every round each client hears what its adviser recommends, alone; then all clients act.

    ``advisers`` share the clients in turn: with 1 all clients have the same adviser, with 2 the seats alternate.
    Advisers are players without a seat (``observers`` of the study names their types) and have no payoffs. What is told
    about the end is as in repetition: the number of rounds, unless ``told_continuation`` is given.
    """

    name: ClassVar[str] = "advice"
    listed: ClassVar[str] = "advice"

    @checked
    def __init__(
        self,
        rounds: Count = 1,
        advisers: Count = 1,
        told_continuation: Share | None = None,
        discount: PositiveShare | None = None,
    ) -> None:
        self.rounds, self.observers, self.discount = rounds, advisers, discount
        self.told: dict[str, Any] = {"advisers": advisers}
        if rounds > 1 or told_continuation is not None:
            self.told["repeated"] = True
            self.told |= {"rounds": rounds} if told_continuation is None else {"continuation": told_continuation}

    def check(self, game: Game) -> None:
        """Refuse a game in which an adviser would have no client."""
        super().check(game)
        if self.observers > game.seats:
            raise GameError(
                f"mechanism {self.name}: {self.observers} advisers, but game {game.name} has {game.seats} seats"
            )

    def play_round(self, game: Game, number: int, history: History) -> RoundPlay:
        """Advise, then act."""
        views = [View(game, seat, self.name, number, history, self.told) for seat in range(game.seats)]
        advice = yield from self._advice(views)
        answers = yield [act(replace(view, facts={**self.told, "advice": advice[view.seat]})) for view in views]
        played = profile_of(game, answers)
        followed = [place == recommended for place, recommended in zip(played, advice, strict=True)]
        return Round(number, played, game.payoff(played), facts={"advice": advice, "followed": followed})

    def _advice(self, views: Sequence[View]) -> Advice:
        """Return the recommendation for every seat; an adviser is asked about one client after the other."""
        game, advice = views[0].game, [0] * len(views)
        for first in range(0, len(views), self.observers):
            seats = range(first, min(first + self.observers, len(views)))
            answers = yield [
                Decision(
                    game.seats + seat - first,
                    "advise",
                    replace(views[seat], facts={**self.told, "adviser": True, "target": seat}),
                    choice_of(game.named_actions(seat)),
                )
                for seat in seats
            ]
            for seat, answer in zip(seats, answers, strict=True):
                advice[seat] = game.index(seat, answer.value)
        return advice

    def decisions_of(self, game: Game, player: int, players: int) -> int:  # noqa: ARG002
        """Return one act per round for a client, and its share of the clients for an adviser."""
        return (
            self.rounds
            if player < game.seats
            else self.rounds * len(range(player - game.seats, game.seats, self.observers))
        )


MECHANISM = Advised
