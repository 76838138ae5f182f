"""Mechanisms in which all agent types live in one society.

Reputation: members are matched at random and see each other's records (Tewolde et al. 2026). Society: agents on a
network who meet, observe, imitate and choose their neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from ostrom.answers import Answer
from ostrom.games.game import Game
from ostrom.games.tensor import symmetric
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.parameters import Count, Ge, PositiveShare, Share, checked, options_of
from ostrom.ground.streams import Streams
from ostrom.ground.values import value
from ostrom.mechanisms.base import choice_of
from ostrom.mechanisms.missing import Missing
from ostrom.mechanisms.networks import Links, networks, pairs_of
from ostrom.mechanisms.parameters import whole_number
from ostrom.mechanisms.protocol import EMPTY, Decision, Round, View
from ostrom.mechanisms.selection import Imitation
from ostrom.mechanisms.societies import (
    LazyFacts,
    Rewiring,
    SocietyRules,
    SocietyState,
    Steps,
    Table,
    display_name,
    record_of,
)
from ostrom.mechanisms.statements import StatementForm

if TYPE_CHECKING:
    import numpy as np
from ostrom.games.steps import pays_by_profile
from ostrom.mechanisms.incentives import lasting_game
from ostrom.mechanisms.rounds import act_now, drawn_round
from ostrom.mechanisms.societies import ByPlayer


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
        self.require(
            game.has_table or pays_by_profile(game),
            f"a record holds one action of every member per round, and in game {game.name} not all decide once and at "
            "the same time, or chance or a stock decide with them",
        )
        self.check(game)

    def begin(self, game: Game, streams: Streams) -> SocietyState:
        """Return the society before its first round; refused if the members do not fill the tables."""
        count = self.members(game)
        self.require(count % game.seats == 0, f"{count} players do not fill tables of {game.seats} seats")
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


MOST_MEMBERS = 2000


class Society(SocietyRules):
    """Members live on a ``network`` and meet neighbours in every round.

    ``meeting: neighbours``: one action for all neighbours, paid the mean (or the total: ``pay``) of what it earns
    with each of them; a game of n > 2 seats is played in the groups of every member and n - 1 of its neighbours.
    ``meeting: pair``: chance matches neighbours two by two, and whoever is left over sits out. ``members`` is their
    number, shared among the types, or the number of each type; ``plant`` puts some of one type among them (``Plant``);
    ``placing`` is ``shuffled`` or ``blocks`` (in the order of the types). Members see the records of ``window``
    rounds of themselves and of whom they ``observe``: nobody, the partners of the round, or all neighbours, at most
    ``records`` of them. ``own: memory`` leaves the own past to the memory of the agent (meeting pair). ``imitation``
    lets members take over the way of playing of a neighbour (``Imitation``), ``links`` lets them choose their
    neighbours (``Rewiring``). ``state`` and ``state_as`` ask for strategies, as in repetition. A round
    without a meeting pays nothing.
    """

    name: ClassVar[str] = "society"

    @checked
    def __init__(
        self,
        network: str | Mapping[str, Any] = "complete",
        meeting: Literal["neighbours", "pair"] = "neighbours",
        rounds: Count = 20,
        members: int | Mapping[str, int] | None = None,
        plant: Mapping[str, Any] | None = None,
        placing: Literal["shuffled", "blocks"] = "shuffled",
        pay: Literal["mean", "total"] = "mean",
        observe: Literal["nobody", "partners", "neighbours"] = "partners",
        window: Annotated[int, Ge(0)] = 1,
        records: Annotated[int, Ge(0)] = 12,
        own: Literal["record", "memory"] = "record",
        imitation: Mapping[str, Any] | str | None = None,
        links: Mapping[str, Any] | None = None,
        discount: PositiveShare | None = None,
        told_continuation: Share | None = None,
        state: str | Sequence[str] | None = None,
        state_as: StatementForm = "memory_one",
    ) -> None:
        super().__init__(rounds, window, 1, discount, told_continuation, own, state, state_as)
        if own == "memory" and meeting != "pair":
            raise ValueError("own: memory goes with meeting: pair, where a round is one meeting")
        self.network = networks.build(network, key="mechanism.network")
        self.meeting, self.placing, self.pay, self.observe = meeting, placing, pay, observe
        self.settlers, self.records = _members(members), records
        self.plant = None if plant is None else options_of(Plant, plant, "plant")
        self.imitation = Imitation.from_options(imitation)
        self.links = None if links is None else options_of(Rewiring, links, "links")
        self.spreads = self.imitation is not None
        self.between_every = 1 if self.links is None else self.links.every
        self.told |= {"meeting": meeting, "pay": pay, "observe": observe, "chooses": self.links is not None}

    def check(self, game: Game) -> None:
        """Refuse games that differ between seats: neighbours can change places."""
        import numpy as np

        super().check(game)
        alike = game.seats > 1 and symmetric(game.actions, game.payoffs)
        self.require(alike, f"game {game.name} is not the same from every seat")
        self.require(
            self.meeting != "pair" or game.seats == 2,
            f"meeting pair needs a game of 2 seats, {game.name} has {game.seats}",
        )
        if self.players is not None and not getattr(self.network, "absent", False):
            self._places(self.players, np.random.default_rng(0))

    def population(self, names: Sequence[str], seats: int) -> Sequence[str]:
        """The type of every member, from ``members`` and ``plant``."""
        return population(names, seats, self.settlers, self.plant)

    def begin(self, game: Game, streams: Streams) -> SocietyState:
        """Place the members on the network."""
        life = super().begin(game, streams)
        places = self._places(life.count, streams.for_round(0, 0, "network"))
        lived = homes(places, self.plant, self.placing == "shuffled", streams.for_round(0, 0, "homes"))
        life.links = neighbours_by_home(places, lived)
        life.facts |= {
            "homes": lived,
            "links": [list(pair) for pair in pairs_of(life.links)],
            "changes": [],
            "adopted": [],
        }
        return life

    def _places(self, count: int, rng: np.random.Generator) -> Links:
        self.require(count <= MOST_MEMBERS, f"{count} members, at most {MOST_MEMBERS} are possible")
        try:
            return self.network.links(count, rng)
        except ValueError as error:
            raise GameError(f"mechanism {self.name}: network: {error}") from None

    def tables(self, life: SocietyState, number: int) -> list[Table]:
        """The tables of a round: every member with enough neighbours, or random pairs of neighbours."""
        if self.meeting == "neighbours":
            least = life.game.seats - 1
            return [(p,) for p in range(life.count) if len(life.links[p]) >= (1 if least == 1 else least)]
        pairs = pairs_of(life.links)
        free, tables = set(range(life.count)), []
        for i in life.streams.for_round(number, 0, "matching").permutation(len(pairs)):
            one, other = pairs[int(i)]
            if one in free and other in free:
                free -= {one, other}
                tables.append((one, other))
        return sorted(tables)

    def question(self, life: SocietyState, player: int, table: Table, number: int) -> Decision:
        """Ask a member for its action, given the records of those whom it observes."""
        around = sorted(life.links[player])
        met = [other for other in table if other != player]
        with_all = self.meeting == "neighbours"
        observed = self._observed(life, player, around, met, number)
        rounds = len(life.past)

        def records(who: Sequence[int]) -> list[dict[str, Any]]:
            past, oldest = life.past[:rounds], max(0, rounds - self.window)
            return [record_of(one, past, oldest, 1, life.names, player) for one in who]

        remembers, at_table = (self.own == "memory", observed if with_all else [p for p in met if p in observed])
        computed = {"records": partial(records, [*(() if remembers else (player,)), *at_table])}
        if not with_all and (others := [p for p in observed if p not in met]):
            computed["observed"] = partial(records, others)
        facts = LazyFacts({**self.told, **({"neighbours": len(around)} if with_all else {})}, computed)
        names = life.unnamed if with_all else ("You", *(display_name(p, life.names, player) for p in met))
        view = View(life.game, 0, self.name, number, life.history(player) if remembers else EMPTY, facts, names)
        return Decision(player, "act", view, choice_of(life.game.named_actions(0)), life.agent(player))

    def _observed(self, life: SocietyState, player: int, around: list[int], met: list[int], number: int) -> list[int]:
        """Return whose records a member sees; a random sample of too many neighbours."""
        if self.observe == "nobody":
            return []
        who = met if self.observe == "partners" and self.meeting == "pair" else around
        if len(who) <= self.records:
            return list(who)
        rng = life.streams.for_round(number, player, "observed")
        return sorted(
            [
                *[p for p in who if p in met],
                *[who[int(i)] for i in rng.permutation(len(who)) if who[int(i)] not in met],
            ][: self.records]
        )

    def settle(
        self,
        life: SocietyState,
        tables: Sequence[Table],
        given: dict[int, Answer],
        number: int,
        missing: Missing | None,
    ) -> list[Round]:
        """Pay pairs as in every society; pay a neighbourhood the mean or the total of its games."""
        if self.meeting == "pair":
            return super().settle(life, tables, given, number, missing)
        game = life.game
        did = {player: game.index(0, answer.value) for player, answer in given.items()}
        earned: dict[int, list[float]] = {player: [] for player in did}
        for group in self._groups(life, did, number):
            for player, amount in zip(group, game.payoff(tuple(did[player] for player in group)), strict=True):
                earned[player].append(amount)
        totals = {
            p: sum(points) / (len(points) if self.pay == "mean" and points else 1) for p, points in earned.items()
        }
        return [Round(number, (did[p],), (float(total),), (p,)) for p, total in totals.items()]

    def _groups(self, life: SocietyState, did: Mapping[int, int], number: int) -> list[Table]:
        """Return the groups that play one game: the ends of every link, or a member with enough neighbours."""
        if life.game.seats == 2:
            return [pair for pair in pairs_of(life.links) if pair[0] in did and pair[1] in did]
        groups = []
        for player in did:
            around = [p for p in sorted(life.links[player]) if p in did]
            if len(around) >= life.game.seats - 1:
                order = life.streams.for_round(number, player, "group").permutation(len(around))
                groups.append((player, *(around[int(i)] for i in order[: life.game.seats - 1])))
        return groups

    def seen(self, life: SocietyState, player: int, played: Round) -> Round:
        """Return the round as the member sees it, with its own action first."""
        if played.players[0] != player:
            played = Round(played.number, played.actions[::-1], played.payoffs[::-1], played.players[::-1])
        return super().seen(life, player, played)

    def between(self, life: SocietyState, number: int) -> Steps:
        """Imitate, then choose neighbours."""
        if self.imitation is not None:
            self.imitation.step(life, number)
        if self.links is not None:
            yield from self.links.steps(life, number, self.name, self.told)

    def most_decisions(self, game: Game) -> int:
        """Return the decisions of all members in all rounds, and those about links."""
        return super().most_decisions(game) + (
            self.links.most_decisions(self.members(game), self.rounds) if self.links else 0
        )


def _members(stated: int | Mapping[str, int] | None) -> int | dict[str, int] | None:
    """Return the number of members, in all or by type."""
    if isinstance(stated, Mapping):
        return {str(name): whole_number(f"members.{name}", count, 0) for name, count in stated.items()}
    return None if stated is None else whole_number("members", stated, 2)


@value
class Plant:
    """``count`` members of one ``type`` who are put in among the others: where chance wills, at the places with most
    links, or next to each other."""

    type: str
    count: Annotated[int, Ge(0)] = 1
    at: Literal["anywhere", "hubs", "cluster"] = "anywhere"


def population(
    names: Sequence[str], seats: int, members: int | Mapping[str, int] | None, plant: Plant | None
) -> list[str]:
    """Return the type of every member, planted ones last.

    >>> population(["a", "b", "bad"], 2, 6, Plant("bad", 2))
    ['a', 'a', 'b', 'b', 'bad', 'bad']
    """
    type_names = [*members] if isinstance(members, Mapping) else []
    for name in (*type_names, *([plant.type] if plant else [])):
        if name not in names:
            raise StudyError(
                "names no type of the study",
                key="mechanism.members" if name in type_names else "mechanism.plant.type",
                actual=name,
                allowed=list(names),
            )
    planted = [plant.type] * plant.count if plant else []
    if isinstance(members, Mapping):
        return [name for name in names for _ in range(members.get(name, 0))] + planted
    others = [name for name in names if plant is None or name != plant.type] or list(names)
    total = (len(others) * seats if members is None else members) - len(planted)
    if total < 0:
        raise StudyError("are more than the society has members", key="mechanism.plant.count", actual=len(planted))
    bounds = [total * place // len(others) for place in range(len(others) + 1)]
    return [name for name, a, b in zip(others, bounds, bounds[1:], strict=False) for _ in range(b - a)] + planted


def homes(links: Links, plant: Plant | None, shuffled: bool, rng: np.random.Generator) -> list[int]:
    """Return each member's place on the network; planted members, who come last, as the plant says."""
    count = len(links)
    planted = plant.count if plant else 0
    order = [int(place) for place in rng.permutation(count)]
    rank = {place: i for i, place in enumerate(order)}
    plant_places: list[int] = order[:planted]
    if plant is not None and plant.at == "hubs":
        plant_places = sorted(range(count), key=lambda place: (-len(links[place]), rank[place]))[:planted]
    elif plant is not None and plant.at == "cluster" and planted:
        plant_places = _nearest(links, order, planted)
    return [place for place in (order if shuffled else range(count)) if place not in plant_places] + plant_places


def _nearest(links: Links, order: Sequence[int], wanted: int) -> list[int]:
    """Return ``wanted`` adjacent places, starting at the first of ``order``; after a full component, the next one."""
    cluster: dict[int, None] = {}
    for start in order:
        queue = [start]
        while queue and len(cluster) < wanted:
            place = queue.pop(0)
            if place not in cluster:
                cluster[place] = None
                queue += sorted(links[place] - cluster.keys())
    return [*cluster][:wanted]


def neighbours_by_home(links: Links, homes: Sequence[int]) -> Links:
    """Return the neighbours of every member, by where each lives.

    >>> neighbours_by_home([{1}, {0, 2}, {1}], [2, 0, 1])
    [{2}, {2}, {0, 1}]
    """
    lives = {place: member for member, place in enumerate(homes)}
    return [{lives[place] for place in links[home]} for home in homes]
