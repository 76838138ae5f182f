"""Reputation: a society whose members meet at random and see each other's records (Tewolde et al. 2026)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar

from ostrom.answers import Answer
from ostrom.errors import GameError
from ostrom.games.game import Game
from ostrom.mechanisms.base import Mechanism, act, profile_of
from ostrom.mechanisms.matching import tables_of_round
from ostrom.mechanisms.missing import missed_by, missing_of, void_round
from ostrom.mechanisms.parameters import share, whole
from ostrom.mechanisms.protocol import Decision, Outcome, Play, Round, View
from ostrom.mechanisms.scoring import match_score
from ostrom.mechanisms.standing import ByPlayer, called, record_of
from ostrom.streams import Streams


class Reputation(Mechanism):
    """All agent types live in one society, one member per seat each; every round they are matched anew.

    ``order`` is ``first`` (a record shows a player's own matches) or ``higher`` (every match also shows the
    earlier records of the opponents in it, down to ``depth``). Records reach back ``window`` rounds, at every
    depth. ``told_continuation`` is the chance of another round that the players are told; the society lives
    ``rounds`` rounds. ``discount`` weighs the score (null: the plain mean). ``missed`` and ``missed_at_most`` say
    what follows where somebody does not answer in time (``Missing``): a void round concerns one table alone.
    """

    name: ClassVar[str] = "reputation"
    society: ClassVar[bool] = True
    may_miss: ClassVar[bool] = True

    def __init__(
        self,
        order: str = "first",
        rounds: int = 15,
        window: int = 3,
        depth: int = 3,
        discount: float | None = 0.8,
        told_continuation: float | None = 0.8,
        missed: str | None = None,
        missed_at_most: int | None = None,
    ) -> None:
        self.missing = missing_of(missed, missed_at_most)
        if order not in ("first", "higher"):
            raise ValueError(f"order must be first or higher, found {order!r}")
        self.rounds, self.window = whole("rounds", rounds, 1), whole("window", window, 0)
        self.depth = whole("depth", depth, 1) if order == "higher" else 1
        self.discount = None if discount is None else share("discount", discount, above=True)
        self.players: int | None = None
        self.told: dict[str, Any] = {"order": order, "window": self.window, "depth": self.depth}
        if told_continuation is not None:
            self.told["continuation"] = share("told_continuation", told_continuation)

    def sized(self, players: int) -> Reputation:
        """The society of so many players."""
        grown = copy(self)
        grown.players = players
        return grown

    def play(self, game: Game, streams: Streams) -> Play:
        """Match, show records, ask everybody, score; round after round."""
        count = game.seats if self.players is None else self.players
        if count % game.seats:
            raise GameError(
                f"mechanism {self.name}: {count} players do not fill tables of {game.seats} seats"
            )
        names = pseudonyms(count, streams)
        rounds: list[Round] = []
        past: list[ByPlayer] = []
        missing, times, ended = self.missing, Counter[int](), dict[str, Any]()
        for number in range(1, self.rounds + 1):
            tables = tables_of_round(count, game.seats, number, streams)
            table_of = {player: table for table in tables for player in table}
            answers = yield [
                self._question(game, player, table_of[player], number, past, names) for player in range(count)
            ]
            played: dict[int, Round] = {}
            for table in tables:
                given: Sequence[Answer] = [answers[player] for player in table]
                late = missed_by(given) if missing is not None else ()
                if missing is not None and late and missing.voids:
                    round_ = void_round(game, number, late, table)
                else:
                    profile = profile_of(
                        game, missing.filled(given) if missing is not None and late else given
                    )
                    round_ = Round(number, profile, game.payoff(profile), table, missed=late)
                rounds.append(round_)
                played.update(dict.fromkeys(table, round_))
            past.append(played)
            if missing is not None and (ended := missing.ends(times, missed_by(answers))):
                break
        scores = tuple(
            match_score([by[p].payoffs[p % game.seats] for by in past], self.discount) for p in range(count)
        )
        return Outcome(rounds, scores, {"names": list(names), **ended})

    def _question(
        self,
        game: Game,
        player: int,
        table: tuple[int, ...],
        number: int,
        past: list[ByPlayer],
        names: tuple[str, ...],
    ) -> Decision:
        oldest = max(0, len(past) - self.window)
        shown = [player, *(other for other in table if other != player)]
        records = [record_of(who, past, oldest, self.depth, names, player) for who in shown]
        view = View(
            game,
            player % game.seats,
            self.name,
            number,
            # The past is in the records alone: rounds would name players by number, and with it their types.
            facts={**self.told, "records": records},
            names=tuple(called(who, names, player) for who in table),
        )
        return act(view, player)

    def most_decisions(self, game: Game) -> int:
        """Everybody decides in every round."""
        return self.rounds * (game.seats if self.players is None else self.players)


def pseudonyms(players: int, streams: Streams) -> tuple[str, ...]:
    """A name per player that tells nothing about its type or seat.

    >>> sorted(pseudonyms(3, Streams(0, 0)))
    ['Player 1', 'Player 2', 'Player 3']
    """
    order = streams.about(0, 0, "pseudonyms").permutation(players)
    return tuple(f"Player {int(i) + 1}" for i in order)


MECHANISM = Reputation
