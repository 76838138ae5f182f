"""Rules for matches that continue another match, repeat a decision of one, or take every course that one seat can face.

A player who always does the same after the same past has one answer per history of the others' moves: its own
moves follow from its earlier answers. So a walk asks all histories of a repeated game, level by level. Level t has one
decision for each of the histories of t rounds, numbered like the players of a match; all decisions of a level are due
at the same time.
"""

from collections.abc import Iterator, Sequence
from itertools import count, product
from typing import Any, cast

from ostrom.answers import Answer
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import AskSteps, DelegatingMechanism, Mechanism, choice_of, drive
from ostrom.mechanisms.protocol import Decision, History, Outcome, Play, Round, View


class Branched(DelegatingMechanism):
    """The same rules, with the random draws of the original match up to a step and own draws after it."""

    def __init__(self, rules: Mechanism, step: int) -> None:
        self.rules, self.step = rules, step
        self.name = rules.name  # type: ignore[misc]
        self.told = getattr(rules, "told", {})
        self.missing = rules.missing

    def play(self, game: Game, streams: Streams) -> Play:
        """Play by the rules; the random streams are switched at the step."""
        chance = _ForkedStreams(streams.origin or streams)
        # The rules only draw, which is all that the replacement supports.
        play, steps = self.rules.play(game, cast("Streams", chance)), count()

        def ask(due: list[Decision]) -> AskSteps:
            if next(steps) == self.step:
                chance.now = streams
            return (yield due)

        return drive(play, ask)

    def most_decisions(self, game: Game) -> int:
        """Delegates to the rules that were forked."""
        return self.rules.most_decisions(game)


class Moment(Mechanism):
    """One decision of another match, asked again."""

    def __init__(self, name: str, decision: Decision, earlier: Sequence[tuple[int, Answer]] = ()) -> None:
        self.name = name  # type: ignore[misc]
        self.decision, self.earlier = decision, earlier

    def play(self, game: Game, streams: Streams) -> Play:  # noqa: ARG002
        """Ask once; there is no score."""
        yield [self.decision]
        return Outcome((), ())

    def most_decisions(self, game: Game) -> int:  # noqa: ARG002
        """Return 1: the decision is asked once."""
        return 1

    def longest_history(self, game: Game) -> int:  # noqa: ARG002
        """Return the length of the history at that decision."""
        return len(self.decision.view.history)


class _ForkedStreams:
    """Random streams of one match up to a step, then those of another."""

    def __init__(self, first: Streams) -> None:
        self.now = first

    def __getattr__(self, name: str) -> Any:
        return getattr(self.now, name)


MOST_NODES = 1_000_000
Moves = tuple[tuple[int, ...], ...]
"""The actions of the other seats, round by round."""


class Walk(Mechanism):
    """All histories of one seat under the rules of a plain repetition."""

    def __init__(self, rules: Mechanism, game: Game, seat: int) -> None:
        if not game.has_table:
            raise GameError(
                f"game {game.name}: a tree lists every course of play, and those of a game by a rule are not listed"
            )
        plain = rules.array_rules(game)
        if plain is None or plain.noise:
            raise GameError(
                f"mechanism {rules.name}: a tree needs plain repetition, without noise and without predictions"
            )
        self.name = rules.name  # type: ignore[misc]
        self.told = getattr(rules, "told", {})
        self.seat, self.rounds = seat, plain.rounds
        self.width = len(others_moves(game, seat))
        if self.nodes > MOST_NODES:
            raise GameError(
                f"game {game.name}: a tree of {self.rounds} rounds has {self.nodes:,} histories for seat {seat + 1}, "
                f"at most {MOST_NODES:,} are possible"
            )

    @property
    def nodes(self) -> int:
        """Return the number of decisions."""
        return sum(self.width**t for t in range(self.rounds))

    @property
    def players(self) -> int:
        """Return the number of decisions of the last level."""
        return int(self.width ** (self.rounds - 1))

    def play(self, game: Game, streams: Streams) -> Play:  # noqa: ARG002
        """Ask all decisions of a level; the answers extend the histories of the next one."""
        form, replies = choice_of(game.actions[self.seat]), others_moves(game, self.seat)
        level: list[list[Round]] = [[]]
        for number in range(1, self.rounds + 1):
            answers = yield [
                Decision(place, "act", View(game, self.seat, self.name, number, History(past), self.told), form)
                for place, past in enumerate(level)
            ]
            if number == self.rounds:
                break
            level = [
                [*past, _round(game, number, self.seat, game.index(self.seat, answer.value), moves)]
                for past, answer in zip(level, answers, strict=True)
                for moves in replies
            ]
        return Outcome((), ())

    def most_decisions(self, game: Game) -> int:  # noqa: ARG002
        """Return the number of histories: each is one decision."""
        return self.nodes

    def decisions_of(self, game: Game, player: int, players: int) -> int:  # noqa: ARG002
        """Return the number of levels that have a history of the player's number."""
        return sum(self.width**t > player for t in range(self.rounds))

    def longest_history(self, game: Game) -> int:  # noqa: ARG002
        """All rounds but the last."""
        return self.rounds - 1

    def places(self, game: Game) -> Iterator[tuple[int, int, Moves]]:
        """Yield the step, the player and the others' moves of every decision."""
        replies = others_moves(game, self.seat)
        for step in range(self.rounds):
            for player, moves in enumerate(product(replies, repeat=step)):
                yield step, player, moves


def others_moves(game: Game, seat: int) -> list[tuple[int, ...]]:
    """Return every combination of the other seats' actions in a round.

    >>> from ostrom.games import build_game
    >>> others_moves(build_game("prisoners_dilemma"), 0)
    [(0,), (1,)]
    """
    return list(product(*(range(len(names)) for s, names in enumerate(game.actions) if s != seat)))


def moves_of(rounds: Sequence[Round], seat: int) -> Moves:
    """Return the other seats' actions in played rounds."""
    return tuple((*r.actions[:seat], *r.actions[seat + 1 :]) for r in rounds)


def _round(game: Game, number: int, seat: int, own: int, moves: tuple[int, ...]) -> Round:
    actions = (*moves[:seat], own, *moves[seat:])
    return Round(number, actions, game.payoff(actions))
