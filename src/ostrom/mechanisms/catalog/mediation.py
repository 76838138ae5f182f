"""Mediation: players may delegate to a mediator of their design (Tewolde et al. 2026)."""

from collections.abc import Generator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

from ostrom.answers import Answer, Choice, Record
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import act, closed_object, expected_payoffs
from ostrom.mechanisms.designs import Designed
from ostrom.mechanisms.incentives import game_with
from ostrom.mechanisms.protocol import Decision, Outcome, Play, Round, View

DELEGATE = "delegate"


def realised(game: Game, mediator: Sequence[int], profile: Sequence[int]) -> tuple[int, ...]:
    """Return the played actions; the index after a seat's last action means delegating.

    >>> from ostrom.games import build_game
    >>> pd = build_game("prisoners_dilemma")
    >>> realised(pd, [1, 0], (2, 0)), realised(pd, [1, 0], (2, 2))
    ((1, 0), (0, 0))
    """
    delegates = [action == len(game.actions[seat]) for seat, action in enumerate(profile)]
    common = mediator[sum(delegates) - 1] if any(delegates) else 0
    return tuple(common if gone else action for gone, action in zip(delegates, profile, strict=True))


def mediated_game(game: Game, mediator: Sequence[int]) -> Game:
    """Return the game with the additional action "delegate" for every seat, under a mediator.

    >>> from ostrom.games import build_game
    >>> mediated = mediated_game(build_game("prisoners_dilemma:coopeval"), [1, 0])
    >>> mediated.payoff((2, 2)), mediated.payoff((2, 0))
    ((2.0, 2.0), (3.0, 0.0))
    """
    return _mediated(game, tuple(mediator))


@lru_cache(maxsize=1024)
def _mediated(game: Game, mediator: tuple[int, ...]) -> Game:
    return game_with(
        game, "mediated", lambda profile: game.payoff(realised(game, mediator, profile)), added=(DELEGATE,)
    )


class Mediation(Designed):
    """Vote on mediators, then act or delegate to the one that was chosen.

    A mediator names one action for every number of delegators. It plays that action, by its place in each
    seat's list, for all who delegate. ``designs`` gives the mediators by seat (lists of action indices for
    1, 2, ... delegators) instead of asking the players for them.
    """

    name: ClassVar[str] = "mediation"
    letter: ClassVar[str] = "M"

    def check(self, game: Game) -> None:
        """Refuse a game with an action that is named ``delegate``."""
        super().check(game)
        if any(DELEGATE in names for names in game.actions):
            raise GameError(f"mechanism {self.name}: game {game.name} has an action of its own named {DELEGATE}")

    def form(self, game: Game, seat: int) -> Record:
        """Return the form of a mediator: one action per number of delegators."""
        names = list(game.actions[seat])
        return Record(
            "mediator",
            closed_object(
                {k: {"type": "string", "enum": names} for k in [key_for(count) for count in range(1, game.seats + 1)]}
            ),
            tuple(names),
        )

    def read(self, game: Game, seat: int, value: Mapping[str, Any]) -> list[int]:
        """Return the mediator of an answer: action indices for 1, 2, ... delegators."""
        return [game.index(seat, value[key_for(count)]) for count in range(1, game.seats + 1)]

    def refuse(self, game: Game, design: Sequence[int]) -> str | None:
        """Return why a mediator is invalid: it needs one action index per number of delegators. None if it is valid."""
        if len(design) != game.seats:
            return f"needs one action for each of 1 to {game.seats} delegators"
        return (
            None
            if all(0 <= action < len(game.actions[0]) for action in design)
            else f"an action index lies between 0 and {len(game.actions[0]) - 1}"
        )

    def induced(self, game: Game, design: Sequence[int]) -> Game:
        """The game with delegating as one more action."""
        return mediated_game(game, design)

    def cooperation(self, game: Game, design: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the cooperative profiles: all cooperate, or all delegate to a mediator that cooperates."""
        direct = tuple(c for c in game.cooperative if c is not None)
        if len(direct) < game.seats:
            return []
        handed_over = tuple(len(names) for names in game.actions)
        return [direct, handed_over] if realised(game, design, handed_over) == direct else [direct]

    def pivotal(self, game: Game, seat: int) -> int:
        """Return the index of delegating, which follows the last action of the seat."""
        return len(game.actions[seat])

    def play(self, game: Game, streams: Streams) -> Play:
        """Vote, then act or delegate, all at the same time."""
        election = yield from self.vote(game, streams)
        mediator = election["design"]
        facts = {"mediator": mediator, "chosen": election["winner"], **self.told(game)}
        answers = yield [
            Decision(seat, "act", View(game, seat, self.name, facts=facts), Choice((*game.actions[seat], DELEGATE)))
            for seat in range(game.seats)
        ]
        table = mediated_game(game, mediator)
        played = realised(game, mediator, tuple(table.index(seat, answer.value) for seat, answer in enumerate(answers)))
        delegated = [answer.value == DELEGATE for answer in answers]
        if self.sham:
            played, expected = (yield from self._act_oneself(game, facts, played, delegated)), None
        else:
            expected = expected_payoffs(table, answers)
        payoffs = game.payoff(played)
        round_ = Round(
            1,
            played,
            payoffs,
            expected=expected,
            facts={"delegated": delegated},
            what=tuple("delegated" if gone and not self.sham else "" for gone in delegated),
        )
        return Outcome([round_], payoffs, {**election, "delegated": delegated})

    def _act_oneself(
        self, game: Game, facts: Mapping[str, Any], named: tuple[int, ...], delegated: Sequence[bool]
    ) -> Generator[list[Decision], Sequence[Answer], tuple[int, ...]]:
        """In the sham, players who delegated learn the mediator's action and act by themselves."""
        seats = [seat for seat, gone in enumerate(delegated) if gone]
        if not seats:
            return named
        answers = yield [act(View(game, seat, self.name, facts={**facts, "named": named[seat]})) for seat in seats]
        own_actions = {s: game.index(s, str(a.value)) for s, a in zip(seats, answers, strict=True)}
        return tuple(own_actions.get(seat, action) for seat, action in enumerate(named))

    def realised_profile(self, game: Game, profile: tuple[int, ...]) -> tuple[int, ...]:
        """Return the actions under the common mediator."""
        return realised(game, self.common_design(), profile)

    def most_decisions(self, game: Game) -> int:
        """A vote and an act per seat; in the sham those who delegated act by themselves after that."""
        return (3 if self.sham else 2) * game.seats


def key_for(count: int) -> str:
    """The key under which a mediator names its action for a number of delegators."""
    return f"delegators_{count}"


MECHANISM = Mediation
