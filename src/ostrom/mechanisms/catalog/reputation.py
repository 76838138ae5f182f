"""Reputation: a society whose members are matched at random and see each other's records (Tewolde et al. 2026)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from ostrom.games.game import Game
from ostrom.games.steps import pays_by_profile
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Count, Ge, PositiveShare, Share, checked
from ostrom.ground.streams import Streams
from ostrom.mechanisms.incentives import lasting_game
from ostrom.mechanisms.protocol import EMPTY, Decision, View
from ostrom.mechanisms.rounds import act_now, drawn_round
from ostrom.mechanisms.societies import ByPlayer, SocietyRules, SocietyState, Table, display_name, record_of
from ostrom.mechanisms.statements import StatementForm


class Reputation(SocietyRules):
    """All agent types live in one society, one member per seat each; every round they are matched anew.

    ``order`` is ``first`` (a record shows a player's own matches: Reputation- in Tewolde et al. 2026) or
    ``higher`` (every match also shows the earlier records of the opponents in it, down to ``depth``: Reputation+).
    Records reach back ``window`` rounds, at every depth. ``told_continuation`` is the chance of another round that
    the players are told; the society lives ``rounds`` rounds. ``discount`` weighs the score (null: the plain
    mean). ``own: memory`` leaves a player's own past to its memory (``agent.memory``) instead of a record.
    ``state`` asks for strategies before, during or after the rounds, in the form ``state_as``. A round that is
    void because somebody missed it concerns one table alone.
    """

    name: ClassVar[str] = "reputation"
    may_miss: ClassVar[bool] = True

    @checked
    def __init__(
        self,
        order: Literal["first", "higher"] = "first",
        rounds: Count = 15,
        window: Annotated[int, Ge(0)] = 3,
        depth: Any = 3,  # first-order records have no depth
        discount: PositiveShare | None = 0.8,
        told_continuation: Share | None = 0.8,
        own: Literal["record", "memory"] = "record",
        state: str | Sequence[str] | None = None,
        state_as: StatementForm = "memory_one",
    ) -> None:
        super().__init__(
            rounds, window, depth if order == "higher" else 1, discount, told_continuation, own, state, state_as
        )
        self.told = {"order": order, **self.told}

    sham: bool = False
    """Whether the shown records are random (a control)."""

    def induced_game(self, game: Game) -> Game | None:
        """Return the game of many rounds (``lasting_game``): through records, later partners react to actions."""
        return lasting_game(game, self.told.get("continuation")) if game.has_table else None

    def as_sham(self) -> Reputation | None:
        """The sham of these rules: records show actions drawn by chance; None with ``own: memory``."""
        return None if self.own == "memory" else self.with_values(sham=True, told={**self.told, "sham": True})

    def fit(self, game: Game) -> None:
        """Refuse games in which members do not decide once and simultaneously: a record has one action per round."""
        if game.has_table or pays_by_profile(game):
            self.check(game)
            return
        raise GameError(
            f"mechanism {self.name}: a record holds one action of every member per round, and in game {game.name} not "
            "all decide once and at the same time, or chance or a stock decide with them"
        )

    def begin(self, game: Game, streams: Streams) -> SocietyState:
        """Return the society before its first round; refused if the members do not fill the tables."""
        count = self.members(game)
        if count % game.seats:
            raise GameError(f"mechanism {self.name}: {count} players do not fill tables of {game.seats} seats")
        return super().begin(game, streams)

    def seat(self, game: Game, player: int) -> int:
        """Return the seat of a member, which it keeps."""
        return player % game.seats

    def tables(self, life: SocietyState, number: int) -> list[Table]:
        """Return a random perfect matching across seats."""
        return tables_of_round(life.count, life.game.seats, number, life.streams)

    def question(self, life: SocietyState, player: int, table: Table, number: int) -> Decision:
        """Ask for an action, given the records of those at the table."""
        past, names, remembers = life.past, life.names, self.own == "memory"
        if self.sham:
            past = [_drawn(life, by_player, index) for index, by_player in enumerate(past, 1)]
        oldest = max(0, len(past) - self.window)
        subjects = [*(() if remembers else (player,)), *(other for other in table if other != player)]
        records = [record_of(who, past, oldest, self.depth, names, player) for who in subjects]
        view = View(
            life.game,
            player % life.game.seats,
            self.name,
            number,
            # By default the past is in the records alone.
            life.history(player) if remembers else EMPTY,
            facts={**self.told, "records": records},
            names=tuple(display_name(who, names, player) for who in table),
        )
        return act_now(view, player)


def _drawn(life: SocietyState, past: ByPlayer, number: int) -> ByPlayer:
    """Return a round with random actions at the actual tables."""
    return {
        player: drawn_round(life.game, number, table[0], life.streams, table)
        for table in {played.players for played in past.values()}
        for player in table
    }


def tables_of_round(players: int, seats: int, number: int, streams: Streams) -> list[tuple[int, ...]]:
    """The tables of a round, each with one player per seat; player p always takes seat p % seats.

    Every seat's players are shuffled on their own (the first seat's stay in order), so that all matchings
    are equally likely.

    >>> tables = tables_of_round(6, 2, 1, Streams(0, 0))
    >>> sorted(p for table in tables for p in table)
    [0, 1, 2, 3, 4, 5]
    """
    size = players // seats
    columns = [[seat + seats * i for i in range(size)] for seat in range(seats)]
    for seat in range(1, seats):
        columns[seat] = [columns[seat][int(i)] for i in streams.for_round(number, seat, "matching").permutation(size)]
    return list(zip(*columns, strict=True))


MECHANISM = Reputation
