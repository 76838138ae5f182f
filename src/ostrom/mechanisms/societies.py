"""Societies: many players who meet in every round and see records; the rules that they share.

A society says who meets whom (``tables``), what each is asked (``question``) and what happens between two rounds
(``between``). Everything else, from missed decisions to scores, is the same in all of them.

With rewiring, members of a society cut links and propose new ones. One member can cut a link; a new link needs both.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from ostrom.answers import Answer, Record
from ostrom.games.game import Game
from ostrom.ground.parameters import Count, Ge, PositiveShare, Share, checked
from ostrom.ground.streams import Streams
from ostrom.ground.values import value
from ostrom.mechanisms.base import Mechanism, closed_object, match_score, profile_of
from ostrom.mechanisms.missing import Missing, missed_by, void_round
from ostrom.mechanisms.networks import Links
from ostrom.mechanisms.protocol import Decision, History, Outcome, Play, Round, View
from ostrom.mechanisms.rounds import simultaneous_round
from ostrom.mechanisms.statements import StatementForm, check_stating, statement_count, statements, times_of

FEW_ROUNDS = 4
"""The most rounds of a shortened society, unless its questions between rounds come later."""
ByPlayer = Mapping[int, Round]
"""Each player's round; players who met nobody have none."""


def record_of(
    player: int, past: Sequence[ByPlayer], oldest: int, depth: int, names: Sequence[str], reader: int
) -> dict[str, Any]:
    """Return a player's record for a reader: the rounds of ``past`` from index ``oldest`` on."""
    matches = []
    for index in range(len(past) - 1, oldest - 1, -1):
        played = past[index].get(player)
        if played is None:
            continue  # it met nobody
        void, actions, payoffs = played.void, played.actions, played.payoffs
        at_table: list[dict[str, Any]] = [
            {
                "name": "You" if who == reader else names[who],
                "seat": seat,
                "action": None if void else actions[seat],
                "payoff": payoffs[seat],
            }
            for seat, who in enumerate(played.players)
        ]
        for move in played.facts.get("moves", ()):
            at_table[move["seat"]]["value"] = move["value"]
        line: dict[str, Any] = {"round": played.number, "players": at_table}
        if played.missed:
            line["missed"] = [display_name(played.players[seat], names, reader) for seat in played.missed]
        if depth > 1 and index > oldest:
            line["opponents"] = [
                record_of(other, past[:index], oldest, depth - 1, names, reader)
                for other in played.players
                if other != player
            ]
        matches.append(line)
    return {"name": display_name(player, names, reader), "seat": _seat(player, past), "matches": matches}


class LazyFacts(Mapping[str, Any]):
    """Facts of which some are computed at their first use, because few players look at a record."""

    __slots__ = ("_computed", "_facts")

    def __init__(self, known: dict[str, Any], computed: Mapping[str, Callable[[], Any]]) -> None:
        self._facts, self._computed = known, computed

    def __getitem__(self, key: str) -> Any:
        if key not in self._facts and key in self._computed:
            self._facts[key] = self._computed[key]()
        return self._facts[key]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._facts, **self._computed})

    def __len__(self) -> int:
        return len({**self._facts, **self._computed})

    def __contains__(self, key: object) -> bool:
        return key in self._facts or key in self._computed


def display_name(player: int, names: Sequence[str], reader: int) -> str:
    """Return the pseudonym of a player, or "You" if it is the reader."""
    return "You" if player == reader else names[player]


def _seat(player: int, past: Sequence[ByPlayer]) -> int | None:
    """Return a player's seat, from its matches."""
    last = next((by[player] for by in reversed(past) if player in by), None)
    return None if last is None else last.players.index(player)


Table: TypeAlias = tuple[int, ...]
Steps: TypeAlias = Generator[list[Decision], Sequence[Answer], None]


@dataclass(slots=True)
class SocietyState:
    """The state of a society in play."""

    game: Game
    streams: Streams
    count: int
    names: tuple[str, ...]
    ways: list[int]
    """The player whose agent decides for each member: initially its own."""
    links: Links = field(default_factory=list)
    past: list[ByPlayer] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    own: list[list[Round]] = field(default_factory=list)
    """Each member's own rounds, as it saw them."""
    facts: dict[str, Any] = field(default_factory=dict)

    def paid(self, player: int, past: ByPlayer) -> float:
        """Return a member's payoff in a round; 0 if it met nobody."""
        played = past.get(player)
        return 0.0 if played is None else played.payoffs[played.players.index(player)]

    def agent(self, player: int) -> int | None:
        """Return whose agent decides for a member, if it is not its own."""
        return None if self.ways[player] == player else self.ways[player]

    @property
    def unnamed(self) -> tuple[str, ...]:
        """Return the names of seats for a member that faces all of its neighbours."""
        seats = self.game.seats
        return ("You", "your neighbour") if seats == 2 else ("You", *(f"neighbour {s}" for s in range(1, seats)))

    def history(self, player: int) -> History:
        """Return the member's own rounds."""
        own = self.own[player]
        return History(own, gaps=any(played.void for played in own))


class SocietyRules(Mechanism):
    """Shared rules of societies: rounds, records of the last ``window`` rounds, and scores."""

    society: ClassVar[bool] = True

    @checked
    def __init__(
        self,
        rounds: Count,
        window: Annotated[int, Ge(0)],
        depth: Count,
        discount: PositiveShare | None,
        told_continuation: Share | None,
        own: Literal["record", "memory"],
        state: str | Sequence[str] | None = None,
        state_as: StatementForm = "memory_one",
    ) -> None:
        self.state, self.state_as, self.own = times_of(state), state_as, own
        self.rounds, self.window, self.depth, self.discount = rounds, window, depth, discount
        self.players: int | None = None
        self.told: dict[str, Any] = {
            "window": window,
            "depth": depth,
            **({} if told_continuation is None else {"continuation": float(told_continuation)}),
            **({"own": own, "repeated": True} if own == "memory" else {}),
        }

    def for_players(self, players: int) -> Self:
        """Return these rules for ``players`` players."""
        return self.with_values(players=players)

    between_every: int = 1
    """The number of rounds from one question between rounds to the next."""

    def shortened(self) -> Self:
        """Return rules with few rounds, but enough for a question between rounds."""
        return self.with_rounds(min(self.rounds, max(FEW_ROUNDS, self.between_every + 1)))

    def members(self, game: Game) -> int:
        """Return the number of players; without a study, one per seat."""
        return game.seats if self.players is None else self.players

    def begin(self, game: Game, streams: Streams) -> SocietyState:
        """Return the society before its first round."""
        count = self.members(game)
        names = pseudonyms(count, streams)
        life = SocietyState(game, streams, count, names, list(range(count)), own=[[] for _ in range(count)])
        life.facts["names"] = list(names)
        return life

    @abstractmethod
    def tables(self, life: SocietyState, number: int) -> list[Table]:
        """Return who meets whom in a round: a player per seat, or one player with all its neighbours."""

    @abstractmethod
    def question(self, life: SocietyState, player: int, table: Table, number: int) -> Decision:
        """Return the question to a member at its table."""

    def between(self, life: SocietyState, number: int) -> Steps:  # noqa: ARG002
        """Change the society between two rounds, by questions to its members if needed; by default nothing happens."""
        yield from ()

    def play(self, game: Game, streams: Streams) -> Play:
        """Play all rounds: form tables, ask everybody for a move, and compute payoffs."""
        self.check(game)
        life = self.begin(game, streams)
        missing, times, ended = self.missing, Counter[int](), dict[str, Any]()
        for number in range(1, self.rounds + 1):
            if number == 1 and "before" in self.state:
                yield from self._statements(life, number, "before")
            if number == max(2, self.rounds // 2 + 1) and "during" in self.state:
                yield from self._statements(life, number, "during")
            tables = self.tables(life, number)
            table_of = {player: table for table in tables for player in table}
            players = sorted(table_of)
            answer_of: dict[int, Answer] = {}
            if players:
                answer_of = dict(
                    zip(players, (yield [self.question(life, p, table_of[p], number) for p in players]), strict=True)
                )
            played: dict[int, Round] = {}
            for round_ in self.settle(life, tables, answer_of, number, missing):
                life.rounds.append(round_)
                played.update(dict.fromkeys(round_.players, round_))
            life.past.append(played)
            life.rounds += [
                Round(number, (), (0.0,), (player,), facts={"way": life.ways[player]}, what=("unmet",))
                for player in range(life.count)
                if player not in played
            ]
            if self.own == "memory":
                for player, round_ in played.items():
                    life.own[player].append(self.seen(life, player, round_))
            late = [p for p in players if answer_of[p].reading == "missed"]
            if missing is not None and (ended := missing.ending_facts(times, late)):
                break
            if number < self.rounds:
                yield from self.between(life, number)
        if "after" in self.state:
            yield from self._statements(life, len(life.past) + 1, "after")
        if self.state:
            life.facts["met"] = [[r.number, *r.players] for r in life.rounds if len(r.players) > 1]
        scores = tuple(
            match_score([life.paid(p, past) for past in life.past], self.discount) for p in range(life.count)
        )
        return Outcome(life.rounds, scores, {**life.facts, **ended})

    def seat(self, game: Game, player: int) -> int:  # noqa: ARG002
        """Return the seat from which a member sees the game."""
        return 0

    def _statements(self, life: SocietyState, number: int, when: str) -> Steps:
        """Ask every member for a statement at the same time."""
        game, who = life.game, []
        for player in range(life.count):
            seat, other = self.seat(game, player), "your neighbour" if life.links else "the other player"
            view = View(
                game,
                seat,
                self.name,
                number,
                life.history(player),
                self.told,
                ("You", other) if seat == 0 else (other, "You"),
            )
            who.append((player, view, life.agent(player)))
        return statements(who, self.state_as, when)

    def settle(
        self,
        life: SocietyState,
        tables: Sequence[Table],
        given: dict[int, Answer],
        number: int,
        missing: Missing | None,
    ) -> list[Round]:
        """Return the rounds that follow from the answers, table by table."""
        game, rounds = life.game, []
        for table in tables:
            at_table: Sequence[Answer] = [given[player] for player in table]
            late = missed_by(at_table) if missing is not None else ()
            if missing is not None and late and missing.voids:
                rounds.append(void_round(game, number, late, table))
                continue
            if missing is not None and late:
                at_table = missing.filled(at_table)
            if game.has_table:
                profile = profile_of(game, at_table)
                rounds.append(Round(number, profile, game.payoff(profile), table, missed=late))
            else:
                rounds.append(
                    replace(
                        simultaneous_round(game, number, [answer.value for answer in at_table], late), players=table
                    )
                )
        return rounds

    def seen(self, life: SocietyState, player: int, played: Round) -> Round:
        """Return a round as a member remembers it, with its co-players' names."""
        return Round(
            played.number,
            played.actions,
            played.payoffs,
            facts={**played.facts, "names": [display_name(who, life.names, player) for who in played.players]},
            missed=played.missed,
        )

    def most_decisions(self, game: Game) -> int:
        """Return the decisions of all members in all rounds, with their statements of strategies."""
        return (self.rounds + statement_count(self.state, self.state_as)) * self.members(game)

    def check(self, game: Game) -> None:
        """Refuse a game that does not work with these rules; statements need two seats with two actions."""
        super().check(game)
        if self.state:
            check_stating(self.name, game)

    def longest_history(self, game: Game) -> int:  # noqa: ARG002
        """Return all rounds but the last with ``own: memory``; else 0, as views then show records and no history."""
        return self.rounds - 1 if self.own == "memory" else 0


def pseudonyms(players: int, streams: Streams) -> tuple[str, ...]:
    """Return a name per player that reveals neither its type nor its seat.

    >>> sorted(pseudonyms(3, Streams(0, 0)))
    ['Player 1', 'Player 2', 'Player 3']
    """
    return tuple(f"Player {int(i) + 1}" for i in streams.for_round(0, 0, "pseudonyms").permutation(players))


NOBODY = "nobody"


@value
class Rewiring:
    """After every ``every``-th round a ``share`` of the members may cut one link and propose another.

    A proposal goes to one of at most ``offers`` members who are no neighbours yet, drawn by chance; whoever is proposed
    to accepts or not. ``seen`` bounds how many neighbours are shown with their records.
    """

    every: Count = 1
    share: PositiveShare = 0.1
    offers: Count = 3
    seen: Count = 12

    def members_per_step(self, count: int) -> int:
        """Return the number of members asked at a time."""
        return max(1, round(self.share * count))

    def most_decisions(self, count: int, rounds: int) -> int:
        """Return two decisions per asked member and time: its own changes, and the reply to its proposal."""
        return 2 * self.members_per_step(count) * ((rounds - 1) // self.every)

    def steps(self, life: SocietyState, number: int, name: str, told: Mapping[str, Any]) -> Steps:
        """Ask for cuts and proposals, then for acceptances; then change the links."""
        if number % self.every:
            return
        rng = life.streams.for_round(number, 0, "rewiring")
        choosers = sorted(int(p) for p in rng.permutation(life.count)[: self.members_per_step(life.count)])
        near, far = {}, {}
        for player in choosers:
            neighbours = sorted(life.links[player])
            near[player] = sorted(neighbours[int(i)] for i in rng.permutation(len(neighbours))[: self.seen])
            free = [p for p in range(life.count) if p != player and p not in life.links[player]]
            far[player] = sorted(free[int(i)] for i in rng.permutation(len(free))[: self.offers])
        answers = yield [
            self._question("link", life, player, number, name, told, near[player], far[player]) for player in choosers
        ]
        by_name = {pseudonym: member for member, pseudonym in enumerate(life.names)}
        cut: list[list[int]] = []
        proposed: dict[int, list[int]] = {}
        for player, answer in zip(choosers, answers, strict=True):
            if (ex_neighbour := answer.value["cut"]) != NOBODY:
                cut.append(sorted((player, by_name[ex_neighbour])))
            if (target_name := answer.value["propose"]) != NOBODY:
                proposed.setdefault(by_name[target_name], []).append(player)
        new_links: list[list[int]] = []
        if proposed:
            targets = sorted(proposed)
            answers = yield [
                self._question("accept", life, target, number, name, told, [], proposed[target]) for target in targets
            ]
            for target, answer in zip(targets, answers, strict=True):
                new_links += [sorted((target, p)) for p in proposed[target] if answer.value[life.names[p]]]
        for one, other in cut:
            life.links[one].discard(other)
            life.links[other].discard(one)
        for one, other in new_links:
            life.links[one].add(other)
            life.links[other].add(one)
        for kind, pairs in (("cut", cut), ("made", new_links)):
            life.facts["changes"] += [[number, kind, *pair] for pair in sorted(set(map(tuple, pairs)))]

    def _question(
        self, kind: str, life: SocietyState, player: int, number: int, name: str, told: Mapping[str, Any],
        near: list[int], far: list[int],
    ) -> Decision:  # fmt: skip
        oldest = max(0, len(life.past) - int(told["window"]))
        people = [
            {
                "name": display_name(who, life.names, player),
                "linked": who in near,
                "record": record_of(who, life.past, oldest, 1, life.names, player),
            }
            for who in (*near, *far)
        ]
        view = View(
            life.game,
            0,
            name,
            number,
            life.history(player),
            {**told, "people": people, "neighbours": len(life.links[player])},
            life.unnamed,
        )
        return Decision(
            player,
            kind,
            view,
            links_form(near, far, life.names) if kind == "link" else accept_form(far, life.names),
            life.agent(player),
        )


def links_form(near: list[int], far: list[int], names: tuple[str, ...]) -> Record:
    """Return the form of link changes: whom to leave, and to whom to propose; nobody is allowed."""
    return Record(
        "links",
        closed_object(
            {
                key: {"type": "string", "enum": [NOBODY, *(names[p] for p in who)]}
                for key, who in {"cut": near, "propose": far}.items()
            }
        ),
    )


def accept_form(who: list[int], names: tuple[str, ...]) -> Record:
    """Return the answer form for proposed links: yes or no to every proposer."""
    return Record("accept", closed_object({names[p]: {"type": "boolean"} for p in who}))
