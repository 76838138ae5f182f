"""Pledges: every player pledges an action in public, and pays a fine if it does another."""

from __future__ import annotations

from typing import Any, ClassVar

from ostrom.games.game import Game
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism, act, choice_of, profile_of
from ostrom.mechanisms.parameters import amount
from ostrom.mechanisms.protocol import Decision, Outcome, Play, Round, View


class Pledges(Mechanism):
    """The game is played once, after public pledges; who does not keep its own loses the ``fine``.

    Talk needs no code: ``mechanism: {name: pledges, talk: {when: start}}`` lets the players talk before they pledge.
    """

    name: ClassVar[str] = "pledges"

    def __init__(self, fine: float = 1.0) -> None:
        self.fine = amount("fine", fine)

    def play(self, game: Game, streams: Streams) -> Play:  # noqa: ARG002
        """Pledge, then act."""
        told: dict[str, Any] = {"fine": self.fine}
        answers = yield [
            Decision(seat, "pledge", View(game, seat, self.name, facts=told), choice_of(game.named_actions(seat)))
            for seat in range(game.seats)
        ]
        pledged = [game.index(seat, answer.value) for seat, answer in enumerate(answers)]
        told = {**told, "pledged": pledged}
        answers = yield [act(View(game, seat, self.name, facts=told)) for seat in range(game.seats)]
        played = profile_of(game, answers)
        paid = tuple(
            payoff - self.fine * (played[seat] != pledged[seat]) for seat, payoff in enumerate(game.payoff(played))
        )
        return Outcome([Round(1, played, paid, facts={"pledged": pledged})], paid, {"pledged": pledged})

    def most_decisions(self, game: Game) -> int:
        """A pledge and an act per seat."""
        return 2 * game.seats
