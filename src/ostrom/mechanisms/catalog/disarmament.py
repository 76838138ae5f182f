"""Disarmament: players cap, in turns, how often they will play an action (Deng and Conitzer 2017)."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from ostrom.answers import Answer, Mixture, Record
from ostrom.games.game import Game
from ostrom.ground.parameters import Ge, Le, checked
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism, closed_object
from ostrom.mechanisms.protocol import Decision, Outcome, Play, Round, View

Caps = list[list[int]]
"""By seat and action: the highest percentage with which the action may be played."""


class Disarmament(Mechanism):
    """Lower the caps on your own actions in turns until nobody moves any more; then play within the caps.

    One question concerns one action of one player, so that every answer within its bounds leaves the player
    something to play: caps of a player always sum to at least 100. All caps are public and never rise. A
    sweep asks every player about every action that it can still cap; the talks end after a sweep without a
    move, or after ``sweeps`` sweeps. The game is then played once, with a mixed strategy under the caps.
    """

    name: ClassVar[str] = "disarmament"
    one_shot: ClassVar[bool] = True

    @checked
    def __init__(self, sweeps: Annotated[int, Ge(1), Le(100)] = 5) -> None:
        self.sweeps = sweeps

    def play(self, game: Game, streams: Streams) -> Play:
        """Ask for caps in turns, then for simultaneous acts."""
        caps: Caps = [[100] * len(names) for names in game.actions]
        moves: list[dict[str, int]] = []
        for sweep in range(1, self.sweeps + 1):
            before = len(moves)
            for seat in range(game.seats):
                for action in range(len(game.actions[seat])):
                    low, high = lowest_cap(caps[seat], action), caps[seat][action]
                    if low == high:
                        continue
                    facts = self._facts(caps, moves) | {"action": action, "least": low, "sweep": sweep}
                    answers = yield [
                        Decision(seat, "disarm", View(game, seat, self.name, facts=facts), cap_form(low, high))
                    ]
                    cap = answers[0].value["cap"]
                    if cap < high:
                        caps[seat][action] = cap
                        moves.append({"sweep": sweep, "seat": seat, "action": action, "from": high, "to": cap})
            if len(moves) == before:
                break
        facts = self._facts(caps, moves)
        answers = yield [
            Decision(seat, "act", View(game, seat, self.name, facts=facts), capped_form(game, seat, caps))
            for seat in range(game.seats)
        ]
        odds = [_odds(game, seat, answer) for seat, answer in enumerate(answers)]
        played = tuple(
            int(streams.for_round(1, seat, "play").choice(len(chances), p=chances)) for seat, chances in enumerate(odds)
        )
        payoffs = game.payoff(played)
        return Outcome(
            [Round(1, played, payoffs, expected=game.expected(odds))],
            payoffs,
            {"caps": [list(row) for row in caps], "moves": list(moves)},
        )

    def _facts(self, caps: Caps, moves: Sequence[dict[str, int]]) -> dict[str, Any]:
        return {"sweeps": self.sweeps, "caps": [list(row) for row in caps], "moves": [dict(move) for move in moves]}

    def most_decisions(self, game: Game) -> int:
        """Every action of every seat in every sweep, and one act per seat."""
        return self.sweeps * sum(len(names) for names in game.actions) + game.seats


def lowest_cap(caps: Sequence[int], action: int) -> int:
    """Return the lowest cap on an action that leaves 100 per cent in total.

    >>> lowest_cap([100, 100], 0), lowest_cap([30, 100], 1)
    (0, 70)
    """
    return max(0, 100 - sum(cap for other, cap in enumerate(caps) if other != action))


def cap_form(low: int, high: int) -> Record:
    """Return the answer form of a cap from ``low`` to ``high``, the present cap."""
    return Record("cap", closed_object({"cap": {"type": "integer", "minimum": low, "maximum": high}}))


def capped_form(game: Game, seat: int, caps: Caps) -> Mixture:
    """A mixed strategy within a seat's caps."""
    names = game.named_actions(seat)
    return Mixture(names, {name: cap for name, cap in zip(names, caps[seat], strict=True) if cap < 100})


def _odds(game: Game, seat: int, answer: Answer) -> list[float]:
    return [answer.value[name] / 100 for name in game.actions[seat]]


MECHANISM = Disarmament
