"""Mechanisms whose rounds have two steps: an action, and one more answer of every player.

Advice: advisers recommend, clients act (after the folk theorem for populations that language models guide). A seat has
two people: a client, who plays, and an adviser, who sees what the client sees and recommends an action.

Cheap talk: one public message each before play (Farrell and Rabin 1996).

Punishment: after each round players may pay to take points from others (Fehr and Gächter 2000).
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from ostrom.answers import Answer, Record
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Amount, Count, Ge, Le, PositiveShare, Share, checked
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import (
    Mechanism,
    act,
    choice_of,
    closed_object,
    expected_payoffs,
    profile_of,
    scores_by_seat,
    seat_key,
)
from ostrom.mechanisms.missing import missed_by, void_round
from ostrom.mechanisms.protocol import Decision, History, Outcome, Play, Round, RoundPlay, View
from ostrom.mechanisms.talk import Speaker, Talk, conversation


class TwoStepRounds(Mechanism):
    """Rules under which every player is asked twice in each round: for its action, and for one more answer."""

    rounds: int
    discount: float | None = None
    listed: ClassVar[str]
    """The fact of every round that the outcome of a match lists."""

    @abstractmethod
    def play_round(self, game: Game, number: int, history: History) -> RoundPlay:
        """Play one round after those of the history."""

    def play(self, game: Game, streams: Streams) -> Play:  # noqa: ARG002
        """Play round after round, until missed decisions end the match."""
        self.check(game)
        rounds, times, ended = list[Round](), Counter[int](), dict[str, Any]()
        for number in range(1, self.rounds + 1):
            rounds.append((yield from self.play_round(game, number, History(rounds, gaps=any(r.void for r in rounds)))))
            if self.missing is not None and (ended := self.missing.ending_facts(times, rounds[-1].missed)):
                break
        facts = {self.listed: [r.facts[self.listed] for r in rounds], **ended}
        return Outcome(rounds, scores_by_seat(game, rounds, self.discount), facts)

    def most_decisions(self, game: Game) -> int:
        """Two decisions per seat and round."""
        return 2 * game.seats * self.rounds

    def longest_history(self, game: Game) -> int:  # noqa: ARG002
        """All rounds but the last."""
        return self.rounds - 1


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
        end = {"rounds": rounds} if told_continuation is None else {"continuation": told_continuation}
        repeated = rounds > 1 or told_continuation is not None
        self.told: dict[str, Any] = {"advisers": advisers, **({"repeated": True, **end} if repeated else {})}

    def check(self, game: Game) -> None:
        """Refuse a game in which an adviser would have no client."""
        super().check(game)
        self.require(
            self.observers <= game.seats, f"{self.observers} advisers, but game {game.name} has {game.seats} seats"
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
        self.told = {"length": length, **({"repeated": True, "rounds": rounds} if rounds > 1 else {})}

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


class Punishment(TwoStepRounds):
    """Play a round, learn what all did, then punish at the same time; repeat.

    Every unit of punishment costs the punisher ``cost`` and takes ``fine`` from its target; ``most`` bounds
    the units per co-player and round. Who punished whom is public. The players are told the number of
    ``rounds``; payoffs of a round are those after punishment, and ``discount`` weighs the score. A round
    is void also if only the question about punishment was missed; where missed decisions have a default action, a
    missed punishment is none.
    """

    name: ClassVar[str] = "punishment"
    may_miss: ClassVar[bool] = True
    listed: ClassVar[str] = "punishments"

    @checked
    def __init__(
        self,
        rounds: Count = 10,
        cost: Amount = 1.0,
        fine: Amount = 3.0,
        most: Annotated[int, Ge(1), Le(1000)] = 1,
        discount: PositiveShare | None = None,
    ) -> None:
        self.rounds, self.most, self.discount = rounds, most, discount
        self.cost, self.fine = float(cost), float(fine)
        self.told: dict[str, Any] = {
            "repeated": True,
            "rounds": rounds,
            "cost": self.cost,
            "fine": self.fine,
            "most": most,
            "last_punishments": [],
        }

    def check(self, game: Game) -> None:
        """Refuse a game with one seat."""
        super().check(game)
        self.require(game.seats > 1, f"game {game.name} has one seat, nobody could be punished")

    def play_round(self, game: Game, number: int, history: History) -> RoundPlay:
        """Act, then punish."""
        missing, facts, seats = self.missing, self.told, range(game.seats)
        if history:
            facts = {**facts, "last_punishments": history[-1].facts["punishments"]}
        answers = yield [act(View(game, seat, self.name, number, history, facts)) for seat in seats]
        late = missed_by(answers) if missing is not None else ()
        played: tuple[int, ...] = ()
        if missing is None or not late or not missing.voids:
            played = profile_of(game, answers if missing is None else missing.filled(answers))
            base = game.payoff(played)
            seen = {**facts, "played": {"actions": list(played), "payoffs": list(base)}}
            answers = yield [
                Decision(
                    seat,
                    "punish",
                    View(game, seat, self.name, number, history, seen),
                    punishment_form(game, seat, self.most),
                )
                for seat in seats
            ]
            late = tuple(sorted({*late, *missed_by(answers)}))
        if missing is not None and late and missing.voids:
            return void_round(game, number, late, facts={"before": [0.0] * game.seats, "punishments": []})
        units = [[0 if a.reading == "missed" else a.value.get(seat_key(s), 0) for s in seats] for a in answers]
        deductions = [{"by": by, "to": to, "units": n} for by, row in enumerate(units) for to, n in enumerate(row) if n]
        payoffs = self.payoffs_after(base, units)
        fines = tuple(after - before for after, before in zip(payoffs, base, strict=True))
        return Round(
            number, played, payoffs, facts={"before": list(base), "punishments": deductions}, missed=late, paid=fines
        )

    def payoffs_after(self, base: Sequence[float], units: Sequence[Sequence[int]]) -> tuple[float, ...]:
        """Return payoffs after punishment; ``units[i][j]`` are the units from seat i to seat j.

        >>> Punishment(cost=1, fine=3).payoffs_after((2.0, 3.0), [[0, 1], [0, 0]])
        (1.0, 0.0)
        """
        return tuple(
            paid - self.cost * sum(units[seat]) - self.fine * sum(row[seat] for row in units)
            for seat, paid in enumerate(base)
        )


def punishment_form(game: Game, seat: int, most: int) -> Record:
    """Return the answer form of a punishment: units from 0 to ``most`` per co-player."""
    return Record(
        "punishment",
        closed_object(
            {
                key: {"type": "integer", "minimum": 0, "maximum": most}
                for key in [seat_key(s) for s in range(game.seats) if s != seat]
            }
        ),
    )
