"""Reputation: a society whose members meet at random and see each other's records (Tewolde et al. 2026)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import ClassVar

from ostrom.games.game import Game
from ostrom.games.steps import pays_by_profile
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.lasting import lasting_game
from ostrom.mechanisms.matching import tables_of_round
from ostrom.mechanisms.protocol import EMPTY, Decision, View
from ostrom.mechanisms.rounds import asked_at_once, drawn_round
from ostrom.mechanisms.societies import Life, SocietyRules, Table
from ostrom.mechanisms.standing import ByPlayer, called, record_of


class Reputation(SocietyRules):
    """All agent types live in one society, one member per seat each; every round they are matched anew.

    ``order`` is ``first`` (a record shows a player's own matches) or ``higher`` (every match also shows the
    earlier records of the opponents in it, down to ``depth``). Records reach back ``window`` rounds, at every
    depth. ``told_continuation`` is the chance of another round that the players are told; the society lives
    ``rounds`` rounds. ``discount`` weighs the score (null: the plain mean). ``own: memory`` leaves a player's own
    past to its memory (``agent.memory``) instead of a record. ``state`` asks for strategies before, during or
    after the rounds, in the form ``state_as``. A round that is void because somebody
    missed it concerns one table alone.
    """

    name: ClassVar[str] = "reputation"
    may_miss: ClassVar[bool] = True

    def __init__(
        self,
        order: str = "first",
        rounds: int = 15,
        window: int = 3,
        depth: int = 3,
        discount: float | None = 0.8,
        told_continuation: float | None = 0.8,
        own: str = "record",
        state: str | Sequence[str] | None = None,
        state_as: str = "memory_one",
    ) -> None:
        if order not in ("first", "higher"):
            raise ValueError(f"order must be first or higher, found {order!r}")
        whole_depth = depth if order == "higher" else 1
        super().__init__(rounds, window, whole_depth, discount, told_continuation, own, state, state_as)
        self.told = {"order": order, **self.told}

    sham: bool = False
    """Whether the records that are shown were drawn by chance (a control)."""

    def induced_game(self, game: Game) -> Game | None:
        """As of repetition: a record makes whoever meets a player next answer what it did."""
        return lasting_game(game, self.told.get("continuation")) if game.has_table else None

    def powerless(self) -> Reputation | None:
        """The same society, in which records are those of nobody."""
        if self.own == "memory":
            return None
        sham = copy(self)
        sham.sham, sham.told = True, {**self.told, "sham": True}
        return sham

    def fit(self, game: Game) -> None:
        """A record holds one action of every member per round, so all have to decide once, at the same time."""
        if game.has_table or pays_by_profile(game):
            self.check(game)
            return
        raise GameError(
            f"mechanism {self.name}: a record holds one action of every member per round, and in game {game.name} not "
            "all decide once and at the same time, or chance or a stock decide with them"
        )

    def begin(self, game: Game, streams: Streams) -> Life:
        """Members fill the tables."""
        count = self.members(game)
        if count % game.seats:
            raise GameError(
                f"mechanism {self.name}: {count} players do not fill tables of {game.seats} seats"
            )
        return super().begin(game, streams)

    def seat(self, game: Game, player: int) -> int:
        """Members keep their seats."""
        return player % game.seats

    def tables(self, life: Life, number: int) -> list[Table]:
        """A perfect matching across seats, drawn evenly."""
        return tables_of_round(life.count, life.game.seats, number, life.streams)

    def question(self, life: Life, player: int, table: Table, number: int) -> Decision:
        """Which action, given the records of those at the table."""
        past, names, remembers = life.past, life.names, self.own == "memory"
        if self.sham:
            past = [_drawn(life, by_player, index) for index, by_player in enumerate(past, 1)]
        oldest = max(0, len(past) - self.window)
        shown = [*(() if remembers else (player,)), *(other for other in table if other != player)]
        records = [record_of(who, past, oldest, self.depth, names, player) for who in shown]
        view = View(
            life.game,
            player % life.game.seats,
            self.name,
            number,
            # By default the past is in the records alone.
            life.history(player) if remembers else EMPTY,
            facts={**self.told, "records": records},
            names=tuple(called(who, names, player) for who in table),
        )
        return asked_at_once(view, player)


def _drawn(life: Life, past: ByPlayer, number: int) -> ByPlayer:
    """A round of the society in which chance acted for everybody; who met whom is as it was."""
    tables = {played.players for played in past.values()}
    return {
        player: drawn_round(life.game, number, table[0], life.streams, table)
        for table in tables
        for player in table
    }


MECHANISM = Reputation
